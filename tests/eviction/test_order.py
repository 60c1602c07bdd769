"""Which of several requests for one pod leads, and is shown: the same one in whatever order they come."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import msgspec
import pytest

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.eviction.coexistence import deciding, order
from vacate.eviction.dialects.registry import READ_DIALECTS

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
POD = {"name": "web", "uid": "1"}
BACKUP = "backup.example.com/backup"


def record(kind: Any, name: str, *, age: int = 0, uid: str = "1", begun: bool = True, ended: str = "") -> Any:
    """A request by this kind; `ended` is the reason for which an Eviction has failed."""
    ref = {"name": "web", "uid": uid}
    made = format_time(NOW - dt.timedelta(seconds=age))
    target: Obj = {"target": {"pod": ref, "podRef": ref}, "podRef": ref}
    status: Obj = {}
    if begun and kind is LIFECYCLE_EVICTIONS:
        status = {"targetResponders": [{"name": BACKUP, "priority": 20_000, "state": "Active"}]}
    if ended:
        status["conditions"] = [{"type": "Failed", "status": "True", "reason": ended}]
    dialect = next(one for one in READ_DIALECTS if one.kind == kind)
    obj = {
        "metadata": {"name": name, "uid": name, "creationTimestamp": made},
        "spec": target,
        "status": status,
    }
    return dialect.read(msgspec.convert(obj, dialect.wire))


OWN, EVACUATION = record(EVICTIONREQUESTS, "1"), record(EVACUATIONS, "web")
NINTH, TENTH = record(LIFECYCLE_EVICTIONS, "pod-9-web"), record(LIFECYCLE_EVICTIONS, "pod-10-web")


@pytest.mark.parametrize(
    ("those", "wanted"),
    [
        ([OWN, EVACUATION, NINTH, TENTH], OWN),
        ([EVACUATION, NINTH, TENTH], EVACUATION),
        ([NINTH, TENTH], NINTH),
        ([OWN, record(LIFECYCLE_EVICTIONS, "pod-1-web", age=1)], "pod-1-web"),
        # An Eviction that has not begun may be left behind by whoever made it.
        ([TENTH, record(LIFECYCLE_EVICTIONS, "pod-1-web", age=9, begun=False)], TENTH),
        ([TENTH, record(LIFECYCLE_EVICTIONS, "pod-1-web", age=9, ended="NoFurtherResponder")], TENTH),
        # Of those that are over the last one.
        (
            [
                record(LIFECYCLE_EVICTIONS, name, ended="NoFurtherResponder")
                for name in ("pod-9-web", "pod-10-web", "pod-2-web")
            ],
            "pod-10-web",
        ),
        # Of several Evictions of a pod all but one are failed.
        (
            [
                record(LIFECYCLE_EVICTIONS, "pod-1-web", age=9, ended="CanceledDueToNoRequesters"),
                record(LIFECYCLE_EVICTIONS, "pod-2-web", ended="EvictionInvalid"),
            ],
            "pod-1-web",
        ),
        # Another pod has the name.
        ([record(LIFECYCLE_EVICTIONS, "pod-2-web", age=9, uid="0"), NINTH], NINTH),
        ([], None),
    ],
)  # fmt: skip
def test_one_decides(those: list[Any], wanted: Any) -> None:
    for some in itertools.permutations(those):
        found = deciding(some)
        if found is None:
            assert wanted is None
        else:
            assert found.metadata.name == (wanted if isinstance(wanted, str) else wanted.metadata.name)
    assert len({order(one) for one in those}) == len(those)
