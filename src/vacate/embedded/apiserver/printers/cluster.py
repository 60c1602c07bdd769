"""Namespaces, config maps, secrets, service accounts and leases."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer
from vacate.api.objects import Obj, dig, name_of


def _namespace(obj: Obj, now: dt.datetime) -> list[Any]:
    return [name_of(obj), dig(obj, "status", "phase") or "", age(obj, now)]


def _config_map(obj: Obj, now: dt.datetime) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]


def _secret(obj: Obj, now: dt.datetime) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


def _service_account(obj: Obj, now: dt.datetime) -> list[Any]:
    return [name_of(obj), age(obj, now)]


def _lease(obj: Obj, now: dt.datetime) -> list[Any]:
    return [name_of(obj), dig(obj, "spec", "holderIdentity") or "", age(obj, now)]


NAMESPACES = Printer(
    (NAME, Column("Status", "Whether the namespace is in use or going away."), AGE), _namespace
)
CONFIGMAPS = Printer((NAME, Column("Data", "How many entries the config map has."), AGE), _config_map)
SECRETS = Printer(
    (NAME, Column("Type", "What the secret is for."), Column("Data", "How many entries it has."), AGE),
    _secret,
)
SERVICEACCOUNTS = Printer((NAME, AGE), _service_account)
LEASES = Printer((NAME, Column("Holder", "Who holds the lease."), AGE), _lease)
