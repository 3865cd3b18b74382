"""Writes the Parquet file argv[1] the way pipelines do: narrow integers, dictionaries, wide decimals, nanoseconds, several row groups."""

import sys
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

us = 1_772_953_200_123_456
table = pa.table(
    {
        "report_date": pa.array([date(2026, 3, 8), date(1969, 12, 31), date(2026, 3, 8)], pa.date32()),
        "media_buy_id": pa.array(["mb-1", "mb-2", "mb-1"], pa.string()).dictionary_encode(),
        "package_id": pa.array(["p", "\ufeffp", "\U0001f600"], pa.large_string()),
        "creative_id": pa.array(["a", "b", "c"], pa.string()),
        "creative_name": pa.array([None, "", "x\u2028y"], pa.string()),
        "impressions": pa.array([9007199254740993, -1, 0], pa.int64()),
        "clicks": pa.array([1, None, 2], pa.int32()),
        "spend": pa.array([Decimal("12.34"), Decimal("-0.000001"), None][:2] + [Decimal("0")], pa.decimal128(38, 9)),
        "currency": pa.array(["USD"] * 3, pa.string()).dictionary_encode(),
        "viewable": pa.array([True, None, False], pa.bool_()),
        "viewability_rate": pa.array([0.1 + 0.2, None, 1e-7], pa.float64()),
        "first_impression_at": pa.array([us * 1000, -1000, None], pa.timestamp("ns", "UTC")),
        "labels": pa.array(['{"b":1,"a":[null]}', None, "[]"], pa.string()),
    }
)
pq.write_table(table, sys.argv[1], row_group_size=2, compression="zstd")
