"""Digests as the official AdCP package computes them.

stdin:  JSON list of {"rows": JSON Lines text, "contract": canonicalization document, "revision": revision record}
stdout: JSON list of {"canonical", "binding", "row_count"} in lower-case hex, or {"refused": ...}

The package has no public function for the canonical digest; the private names hold for the pinned version 9.2.0.
"""
import hashlib
import json
import sys

from adcp.reporting.evidence import ReportingControlTotalRecord
from adcp.reporting.ledger.producer import revision_content_sha256
from adcp.reporting_inspection import (
    ReportingInspectionError,
    _canonical_rows_bytes,
    _json_loads_no_duplicates,
    _validate_golden_vectors,
)
from adcp.types import ReportingCanonicalizationContract


def digests(job: dict) -> dict:
    contract, revision = job["contract"], job["revision"]
    rows = [_json_loads_no_duplicates(line.encode()) for line in job["rows"].split("\n") if line]
    try:
        _validate_golden_vectors(ReportingCanonicalizationContract.model_validate(contract), contract["primary_keys"])
        canonical = _canonical_rows_bytes(rows, contract["primary_keys"])
    except ReportingInspectionError as refused:
        return {"refused": f"{refused.code.value}: {refused}"}
    totals = [
        ReportingControlTotalRecord(total["name"], total["value"], total["value_type"], total.get("unit"))
        for total in revision["control_totals"]
    ]
    binding = revision_content_sha256(
        reporting_revision_id=revision["reporting_revision_id"],
        row_count=len(rows),
        reporting_rows=rows,
        control_totals=[(total.name, total.value) for total in totals],
        control_total_evidence=totals,
    )
    return {"canonical": hashlib.sha256(canonical).hexdigest(), "binding": binding, "row_count": len(rows)}


print(json.dumps([digests(job) for job in json.load(sys.stdin)]))
