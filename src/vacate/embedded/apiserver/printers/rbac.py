"""Role bindings and cluster role bindings."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer, wide
from vacate.api.objects import Obj, name_of


def _cells(obj: Obj, now: dt.datetime) -> list[Any]:
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or []
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(obj, now),
        _joined(subjects, "User"),
        _joined(subjects, "Group"),
        _joined(subjects, "ServiceAccount"),
    ]


def _joined(subjects: list[Obj], kind: str) -> str:
    return ", ".join(_subject(one) for one in subjects if one.get("kind") == kind)


def _subject(subject: Obj) -> str:
    name = str(subject.get("name", ""))
    return f"{subject.get('namespace', '')}/{name}" if subject["kind"] == "ServiceAccount" else name


BINDINGS = Printer(
    (
        NAME,
        Column("Role", "The role that is granted."),
        AGE,
        wide("Users", "The users to whom it is granted."),
        wide("Groups", "The groups to whom it is granted."),
        wide("ServiceAccounts", "The service accounts to whom it is granted."),
    ),
    _cells,
)
