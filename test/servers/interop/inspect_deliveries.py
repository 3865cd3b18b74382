"""Reads deliveries as a buyer of the official AdCP package does.

stdin:  JSON list of {"obligation", "revision", "materialization", "folder", "documents": {uri: file in folder}}
stdout: JSON list, one entry each: {"receipt": ..., "reads": [...]} or {"refused": code, "message": ..., "reads": [...]}
"""
import asyncio
import json
import sys
from decimal import Decimal
from pathlib import Path
from urllib.parse import urljoin

from pydantic import TypeAdapter

from adcp.reporting import ReportingInspectionContext, build_reporting_receipt
from adcp.reporting_inspection import (
    ManifestReportingInspector,
    ReportingInspectionCode,
    ReportingInspectionError,
)
from adcp.types import ReportingControlTotal, ReportingMaterialization, ReportingObligation, ReportingRevision


class FolderReader:
    """The package's reader protocol over one folder and the documents that lie in it."""

    def __init__(self, location: str, folder: Path, documents: dict[str, str]) -> None:
        self.base = location.rsplit("/", 1)[0] + "/"
        self.folder = folder
        self.documents = documents
        self.reads: list[str] = []

    async def read(self, locator: str, *, base: str | None = None, max_bytes: int) -> bytes:
        full = urljoin(base, locator) if base else locator
        self.reads.append(full)
        name = self.documents.get(full)
        if name is None and full.startswith(self.base):
            name = full[len(self.base):]
        if name is None or "/" in name or not (self.folder / name).is_file():
            raise ReportingInspectionError(ReportingInspectionCode.RESOURCE_UNAVAILABLE, f"{full} is not there")
        body = (self.folder / name).read_bytes()
        if len(body) > max_bytes:
            raise ReportingInspectionError(ReportingInspectionCode.RESOURCE_TOO_LARGE, f"{full} is larger than promised")
        return body


def fixed_scale(declared):
    """Sums with the declared number of fraction digits; the package's own calculator drops trailing zeros."""
    adapter = TypeAdapter(ReportingControlTotal)

    def compute(rows, definition):
        expressions = {metric.name: metric.source_expression for metric in definition.metrics}
        totals = []
        for target in declared:
            values = (row.get(expressions[target.name]) for row in rows)
            total = sum((Decimal(str(value)) for value in values if value not in (None, "")), Decimal(0))
            digits = len(str(target.value).partition(".")[2])
            wire = target.model_dump(mode="json", exclude_none=True)
            totals.append(adapter.validate_python(wire | {"value": format(total, f".{digits}f")}))
        return totals

    return compute


def inspect(job: dict) -> dict:
    context = ReportingInspectionContext(
        ReportingObligation.model_validate(job["obligation"]),
        ReportingRevision.model_validate(job["revision"]),
        ReportingMaterialization.model_validate(job["materialization"]),
    )
    reader = FolderReader(job["materialization"]["resource"]["location"], Path(job["folder"]), job["documents"])
    inspector = ManifestReportingInspector(reader, control_total_calculator=fixed_scale(context.revision.control_totals))
    try:
        evidence = asyncio.run(inspector(context))
    except ReportingInspectionError as refused:
        return {"refused": refused.code.value, "message": str(refused), "reads": reader.reads}
    receipt = build_reporting_receipt(context, evidence, reporting_receipt_id="receipt-0123456789")
    return {"receipt": receipt.model_dump(mode="json", exclude_none=True), "reads": reader.reads}


print(json.dumps([inspect(job) for job in json.load(sys.stdin)]))
