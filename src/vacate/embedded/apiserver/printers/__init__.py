"""Server-side Tables: the columns that kubectl shows, computed as kube-apiserver does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, Literal

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.printers.columns import Printer
from vacate.embedded.apiserver.printers.registry import printer_of

Include = Literal["None", "Metadata", "Object"]

__all__ = ["Include", "table_of"]


def table_of(
    kind: Kind,
    objects: Sequence[Obj],
    now: dt.datetime,
    *,
    include: str = "Metadata",
    list_meta: Obj | None = None,
    headers: bool = True,
    version: str = "v1",
) -> Obj:
    """A Table with a row for each object.

    `include` says what each row carries of its object; `headers` is false for all but the first event of a
    watch, which has one row and the metadata of its object's revision.
    """
    printer = printer_of(kind)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {} if list_meta is None else list_meta,
        "columnDefinitions": [column.definition() for column in printer.columns] if headers else None,
        "rows": [_row(printer, obj, now, include, version) for obj in objects],
    }


def _row(printer: Printer, obj: Obj, now: dt.datetime, include: str, version: str) -> Obj:
    row: Obj = {"cells": printer.cells(obj, now)}
    if conditions := printer.conditions(obj):
        row["conditions"] = conditions
    row["object"] = _shown(obj, include, version)
    return row


def _shown(obj: Obj, include: str, version: str) -> Any:
    if include == "None":
        return None
    if include == "Object":
        return obj
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj.get("metadata", {}),
    }
