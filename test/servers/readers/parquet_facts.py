"""Prints, as JSON, what pyarrow says about one Parquet file: row groups, columns with their statistics, and filtered row counts.

usage: parquet_facts.py PATH [COLUMN OPERATOR VALUE]...
"""

import json
import sys

import pyarrow.parquet as pq


def text(value):
    return None if value is None else str(value)


path, *filters = sys.argv[1:]
metadata = pq.read_metadata(path)
schema = metadata.schema
facts = {"rows": metadata.num_rows, "row_groups": [], "types": {}, "filtered": []}
for index in range(len(schema)):
    column = schema.column(index)
    facts["types"][column.name] = [column.physical_type, str(column.logical_type)]
for group in range(metadata.num_row_groups):
    columns = {}
    for index in range(metadata.num_columns):
        column = metadata.row_group(group).column(index)
        statistics = column.statistics
        columns[column.path_in_schema] = {
            "compression": column.compression,
            "nulls": None if statistics is None or not statistics.has_null_count else statistics.null_count,
            "min": text(statistics.min) if statistics is not None and statistics.has_min_max else None,
            "max": text(statistics.max) if statistics is not None and statistics.has_min_max else None,
        }
    facts["row_groups"].append({"rows": metadata.row_group(group).num_rows, "columns": columns})
for at in range(0, len(filters), 3):
    column, operator, value = filters[at : at + 3]
    kind = pq.read_schema(path).field(column).type
    import pyarrow as pa

    literal = pa.scalar(value).cast(kind)
    table = pq.read_table(path, filters=[(column, operator, literal)])
    facts["filtered"].append([text(item) for item in table[column].to_pylist()])
print(json.dumps(facts))
