"""What becomes of a merged object without a decoder in between, and in which words it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NODES, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj
from vacate.embedded.schema.unstructured import Unrestorable, json_number, restore

pytestmark = pytest.mark.unit


def spec(**fields: Any) -> Obj:
    return {"spec": fields}


WRONG: list[tuple[Kind, Obj, str]] = [
    (PODS, spec(restartPolicy=5), "cannot convert int64 to v1.RestartPolicy"),
    (PODS, spec(hostname=5), "cannot convert int64 to string"),
    (PODS, spec(hostname=1.5), "unrecognized type: string"),
    (PODS, spec(hostname=["a"]), "unrecognized type: string"),
    (PODS, spec(hostNetwork="yes"), "unrecognized type: bool"),
    (PODS, spec(priority="high"), "unrecognized type: int32"),
    (PODS, spec(priority=1.5), "cannot convert float64 to int32"),
    (PODS, spec(activeDeadlineSeconds=True), "unrecognized type: int64"),
    (PODS, {"spec": "x"}, "cannot restore struct from: string"),
    (PODS, {"spec": 5}, "cannot restore struct from: int64"),
    (PODS, spec(containers={}), "cannot restore slice from map"),
    (PODS, spec(containers=[[]]), "cannot restore struct from: slice"),
    (PODS, spec(nodeSelector=[]), "cannot restore map from slice"),
    (PODS, spec(nodeSelector={"a": 1}), "cannot convert int64 to string"),
    (PODS, {"status": {"startTime": 5}}, "json: cannot unmarshal number into Go value of type string"),
    (PODS, {"status": {"startTime": "x"}},
     'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
    (NODES, {"status": {"capacity": {"cpu": []}}},
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    (CONFIGMAPS, {"binaryData": {"a": "!"}}, "error decoding from json: illegal base64 data at input byte 0"),
    (CONFIGMAPS, {"binaryData": {"a": 5}}, "cannot restore slice from int64"),
    (PODDISRUPTIONBUDGETS, spec(minAvailable=1.5),
     "json: cannot unmarshal number 1.5 into Go value of type int32"),
    # kube-apiserver lets these wrap around.
    (DEPLOYMENTS, spec(replicas=2**33 + 7), "spec.replicas: 8589934599 is out of the range of int32"),
    (DEPLOYMENTS, spec(replicas=2**31), "spec.replicas: 2147483648 is out of the range of int32"),
    (DEPLOYMENTS, spec(replicas=-(2**31) - 1), "spec.replicas: -2147483649 is out of the range of int32"),
    (PODS, spec(activeDeadlineSeconds=2**63),
     "spec.activeDeadlineSeconds: 9223372036854775808 is out of the range of int64"),
    (PODS, spec(activeDeadlineSeconds=1e30), "cannot convert float64 to int64"),
    # The order is that of Go's fields, not that of the object.
    (PODS, spec(hostname=5, containers=5, volumes=5), "cannot restore slice from int64"),
    (PODS, spec(hostname=5, containers=5), "cannot restore slice from int64"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "words"), WRONG)
def test_refused(kind: Kind, obj: Obj, words: str) -> None:
    with pytest.raises(Unrestorable) as refused:
        restore(kind, obj)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        (DEPLOYMENTS, spec(replicas=3.0), spec(replicas=3)),
        (PODDISRUPTIONBUDGETS, spec(minAvailable=2.0), spec(minAvailable=2)),
        (PODS, spec(hostname=None, unknown=[5]), spec(hostname=None, unknown=[5])),
    ],
)
def test_taken(kind: Kind, given: Obj, taken: Obj) -> None:
    restore(kind, given)
    assert given == taken


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1"), (1.5, "1.5"), (2.0, "2"), (0.0, "0"), (1e-7, "1e-7"), (1.5e-9, "1.5e-9"), (1e30, "1e+30"),
     (1e20, "100000000000000000000"), (0.00001, "0.00001"), (-2.5e22, "-2.5e+22")],
)  # fmt: skip
def test_numbers_in_json(number: float, text: str) -> None:
    assert json_number(number) == text
