"""Records in annotations, files and answers that others have written over: no reader fails on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from vacate.api.types import Deployment, HorizontalPodAutoscaler, Node, PersistentVolume
from vacate.api.types.meta import ObjectMeta
from vacate.errors import InvalidAttachment
from vacate.eviction.callers import CALLERS, callers_of
from vacate.kube.exclusivevolumes import ATTACHMENT, attachment_of
from vacate.kube.minreplicas import floor_record_of, is_raised
from vacate.kube.surge import SURGE, record_of, stands
from vacate.maintenance.claims import Claims, claims_of
from vacate.maintenance.names import CLAIMS
from vacate.nodeagent.shutdown.record import ShutdownRecord
from vacate.wire.json import decode_json

pytestmark = pytest.mark.unit

DEEP = '{"x":' + "[" * 100_000 + "]" * 100_000 + "}"
TEXTS = {
    "deep": DEEP,
    "deep in the place of a field": DEEP.replace('"x"', '"pods"'),
    "not JSON": "{",
    "another type": "[1]",
    "a number that is too large": '{"fromReplicas": 1e999}',
    "a time that is too late": '{"began": "9999-12-31T23:59:59-23:59"}',
}


def meta(key: str, text: str) -> ObjectMeta:
    return ObjectMeta(name="it", uid="u", annotations={key: text})


def no_surge(text: str) -> bool:
    deployment = Deployment(metadata=meta(SURGE, text))
    record = record_of(deployment)
    return record is not None and not stands(record, deployment)


def no_raised_floor(text: str) -> bool:
    autoscaler = HorizontalPodAutoscaler(metadata=meta(SURGE, text))
    record = floor_record_of(autoscaler)
    return record is not None and not is_raised(autoscaler, record)


def unreadable_attachment(text: str) -> bool:
    with pytest.raises(InvalidAttachment, match="it stays where it is"):
        attachment_of(PersistentVolume(metadata=meta(ATTACHMENT, text)))
    return True


def no_shutdown(text: str) -> bool:
    try:
        return decode_json(text.encode(), ShutdownRecord).shutdown is None
    except ValueError:
        return True


READERS: Mapping[str, Callable[[str], bool]] = {
    "surge": no_surge,
    "floor": no_raised_floor,
    "attachment": unreadable_attachment,
    "callers": lambda text: callers_of({CALLERS: text}) == {},
    "claims": lambda text: claims_of(Node(metadata=meta(CLAIMS, text))) == Claims(),
    "shutdown": no_shutdown,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_what_cannot_be_read_is_no_record(reader: Callable[[str], bool], text: str) -> None:
    assert reader(text)


def test_a_text_that_is_nested_too_deeply_is_named_as_such() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        decode_json(DEEP, dict)
