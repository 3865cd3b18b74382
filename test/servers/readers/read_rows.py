"""Reads delivered objects with software of others and prints what it saw, exactly.

usage: read_rows.py READER FORMAT COMPRESSION MEMBERS_JSON PATH...
READER: pyarrow | duckdb | stdlib. One JSON array per row: text of each member, or null. Timestamps are microseconds since 1970,
numbers are the shortest text of the double, booleans are true/false.
"""

import csv
import datetime
import decimal
import gzip
import io
import json
import sys

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def micros(text):
    fraction = text[20:-1] if text[19] == "." else ""
    seconds = datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    delta = seconds - EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + int((fraction + "000000")[:6])


def exact(value):
    """Text of a Python value without a float in between."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        delta = value.astimezone(datetime.timezone.utc) - EPOCH
        return str((delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds)
    if isinstance(value, datetime.date):
        return value.isoformat()
    return repr(value)


def arrow_type(kind):
    import pyarrow as pa

    name = kind["kind"]
    if name == "decimal-string":
        return pa.decimal128(kind["precision"], kind["scale"])
    if name == "integer-string":
        return pa.int64() if kind["column"] == "int64" else pa.decimal128(38, 0)
    if name == "timestamp":
        return pa.timestamp("us", tz="UTC")
    return {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "date": pa.date32()}.get(name, pa.string())


def with_pyarrow(form, compression, members, path):
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.json as pa_json
    import pyarrow.parquet as pq

    names = [member["name"] for member in members]
    if form == "parquet":
        table = pq.read_table(path)
        if table.column_names != names:
            raise SystemExit(f"columns {table.column_names}")
        for member, field in zip(members, table.schema):
            wanted = arrow_type(member["type"])
            if field.type != wanted:
                raise SystemExit(f"{field.name} is {field.type}, not {wanted}")
    else:
        stream = pa.input_stream(path, compression=None if compression == "none" else compression)
        if form == "csv":
            table = pa_csv.read_csv(
                stream,
                parse_options=pa_csv.ParseOptions(newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    column_types={member["name"]: arrow_type(member["type"]) for member in members},
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        else:
            text = {"decimal-string", "integer-string", "date", "timestamp"}
            fields = [
                (member["name"], pa.string() if member["type"]["kind"] in text else arrow_type(member["type"]))
                for member in members
            ]
            table = pa_json.read_json(
                stream,
                parse_options=pa_json.ParseOptions(explicit_schema=pa.schema(fields)),
            )
    columns = []
    for member in members:
        column = table[member["name"]]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        columns.append([text_of(member, exact(value)) for value in column.to_pylist()])
    return zip(*columns) if columns else []


def duckdb_type(kind):
    name = kind["kind"]
    if name == "decimal-string":
        return f"DECIMAL({kind['precision']},{kind['scale']})"
    if name == "integer-string":
        return "BIGINT" if kind["column"] == "int64" else "DECIMAL(38,0)"
    return {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMPTZ"}.get(
        name, "VARCHAR"
    )


def with_duckdb(form, compression, members, path):
    import duckdb

    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    packed = "uncompressed" if (form, compression) == ("jsonl", "none") else compression
    if form == "parquet":
        source = "read_parquet(?)"
        described = connection.execute(f"describe select * from {source}", [path]).fetchall()
        for member, row in zip(members, described):
            wanted = duckdb_type(member["type"]).replace("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE")
            if row[0] != member["name"] or row[1] != wanted:
                raise SystemExit(f"{row[0]} is {row[1]}, not {wanted}")
    elif form == "csv":
        columns = json.dumps({member["name"]: duckdb_type(member["type"]) for member in members}, ensure_ascii=False)
        source = (
            f"read_csv(?, auto_detect=false, header=true, delim=',', quote='\"', escape='\"', new_line='\\r\\n', nullstr='',"
            f" allow_quoted_nulls=false, max_line_size=1000000, compression='{packed}', columns={columns})"
        )
    else:
        texts = {"decimal-string", "integer-string", "timestamp", "date"}
        columns = json.dumps(
            {
                member["name"]: "VARCHAR" if member["type"]["kind"] in texts else duckdb_type(member["type"])
                for member in members
            },
            ensure_ascii=False,
        )
        source = f"read_json(?, format='newline_delimited', compression='{packed}', columns={columns})"
    parts = []
    for member in members:
        name = '"' + member["name"].replace('"', '""') + '"'
        if member["type"]["kind"] == "timestamp" and form != "jsonl":
            parts.append(f"epoch_us({name})")
        else:
            parts.append(name)
    rows = connection.execute(f"select {', '.join(parts)} from {source}", [path]).fetchall()
    return ([text_of(member, exact(value)) for member, value in zip(members, row)] for row in rows)


def with_stdlib(form, compression, members, path):
    raw = open(path, "rb").read()
    text = (gzip.decompress(raw) if compression == "gzip" else raw).decode("utf-8")
    if form == "csv":
        # This module does not tell "" from an empty cell.
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader)
        if header != [member["name"] for member in members]:
            raise SystemExit(f"header {header}")
        return ([text_of(member, value) for member, value in zip(members, row)] for row in reader)
    lines = text.split("\n")
    if lines.pop() != "":
        raise SystemExit("no line feed at the end")
    if any(len(line.splitlines()) != 1 for line in lines):
        raise SystemExit("a line that splitlines() would cut")
    rows = (json.loads(line) for line in lines)
    return ([text_of(member, exact(row.get(member["name"]))) for member in members] for row in rows)


def text_of(member, text):
    """Brings what a typed reader and a text reader say to one form."""
    kind = member["type"]["kind"]
    if text is None or text == "":
        return text
    if kind == "timestamp" and "T" in text:
        return str(micros(text))
    if kind == "number":
        return repr(float(text))
    return text


def main():
    reader, form, compression, members, *paths = sys.argv[1:]
    read = {"pyarrow": with_pyarrow, "duckdb": with_duckdb, "stdlib": with_stdlib}[reader]
    for path in paths:
        for row in read(form, compression, json.loads(members), path):
            sys.stdout.write(json.dumps(list(row)) + "\n")


main()
