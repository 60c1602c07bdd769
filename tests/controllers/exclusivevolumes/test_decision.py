"""What the record of a volume becomes, and when a pod counts as ended."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.api.types.core import NodeInfo, NodeSpec, NodeStatus, PodSpec, PodStatus, Taint
from vacate.api.types.meta import Condition, ObjectMeta
from vacate.api.types.storage import PersistentVolumeSpec
from vacate.client.codec import codec_for
from vacate.controllers.exclusivevolumes.confirmation import why_gone_unconfirmed, why_unconfirmed
from vacate.controllers.exclusivevolumes.decision import next_attachment
from vacate.errors import InvalidAttachment
from vacate.kube.exclusivevolumes import (
    ALL_LISTED,
    ATTACHMENT,
    CLOSED,
    DETACHED,
    GATE,
    OPENED,
    Attachment,
    Holder,
    attachment_of,
    attachment_patch,
    detached_of,
    has_started,
    holder_of,
    may_start,
)

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 11, 16, tzinfo=dt.UTC)
OUT = Taint(key="node.kubernetes.io/out-of-service", effect="NoExecute")


def pod(
    name: str,
    node: str = "",
    *,
    phase: str = "Pending",
    going: bool = False,
    gated: bool = False,
    by: str = "",
) -> Pod:
    """A pod by its name, which is its UID too."""
    meta = ObjectMeta(name=name, namespace="default", uid=name, deletion_timestamp=NOW if going else None)
    gates = [{"name": GATE}] if gated else []
    target = [Condition(type="DisruptionTarget", status="True", reason=by)] if by else []
    status = PodStatus(phase=phase, conditions=target)
    return Pod(meta, PodSpec(node_name=node, scheduling_gates=gates), status)


CSI = "kubernetes.io/csi/disks.example.com^h-1"
ISCSI = "kubernetes.io/iscsi/10.0.0.9:3260:iqn.2026-11.com.example:disk:0"
FC = "kubernetes.io/fc/[5006 5007]:2"


def node(ready: str, *taints: Taint, in_use: list[str] | None = None, boot: str = "") -> Node:
    """A node that is ready, not ready, or unknown."""
    conditions = [Condition(type="Ready", status=ready)]
    status = NodeStatus(conditions=conditions, volumes_in_use=in_use or [], node_info=NodeInfo(boot_id=boot))
    return Node(ObjectMeta(name="a"), NodeSpec(taints=list(taints)), status)


def at(where: str, *pods: Pod) -> Attachment:
    return Attachment(where, tuple(map(holder_of, pods)))


def shown(found: Attachment | None) -> tuple[str, list[str]] | None:
    return None if found is None else (found.node, [one.name for one in found.pods])


ONE, TWO, BESIDE = pod("one", "a"), pod("two", "b"), pod("beside", "a")


@pytest.mark.parametrize(
    ("old", "users", "ended", "wanted"),
    [
        (None, [], [], None),
        (None, [ONE], [], ("a", ["one"])),
        (None, [TWO, ONE], [], ("a", ["one"])),
        (None, [pod("x"), pod("y", "a", going=True), pod("z", "a", phase="Failed")], [], None),
        (None, [pod("g", gated=True), TWO], [], ("b", ["two"])),
        (None, [pod("g", gated=True)], [], ("", ["g"])),
        (at("a", ONE), [ONE, TWO], [], ("a", ["one"])),
        (at("a", ONE), [ONE, BESIDE], [], ("a", ["one", "beside"])),
        (at("a", ONE), [TWO], [], ("a", ["one"])),
        (at("a", ONE), [TWO], ["one"], ("b", ["two"])),
        (at("a", ONE, BESIDE), [BESIDE, TWO], ["one"], ("a", ["beside"])),
        (at("a", ONE), [], ["one"], None),
        (at("", pod("g", gated=True)), [pod("g", "b"), ONE], [], ("b", ["g"])),
        (at("", pod("g", gated=True)), [pod("g", gated=True), ONE], [], ("", ["g"])),
    ],
)
def test_the_next_record(
    old: Attachment | None, users: list[Pod], ended: list[str], wanted: tuple[str, list[str]] | None
) -> None:
    assert shown(next_attachment(old, users, ended, NOW)) == wanted


@pytest.mark.parametrize(
    ("old", "users", "ended", "running", "wanted"),
    [
        (None, [TWO, ONE], [], [TWO], ("b", ["two"])),
        (None, [ONE, pod("two", "b", going=True)], [], [pod("two", "b", going=True)], ("b", ["two"])),
        (None, [pod("g", gated=True), TWO], [], [TWO], ("b", ["two"])),
        (None, [ONE, TWO, BESIDE], [], [ONE], ("a", ["one", "beside"])),
        (None, [ONE, TWO, pod("c", "c")], [], [ONE, TWO], None),
        (at("b", pod("never")), [ONE, TWO], ["never"], [ONE], ("a", ["one"])),
        (at("b", TWO), [ONE, TWO], [], [ONE], ("a", ["one"])),
        (at("", pod("g", gated=True)), [ONE, pod("g", gated=True)], [], [ONE], ("a", ["one"])),
        (at("b", TWO), [ONE, TWO], [], [ONE, TWO], ("b", ["two"])),
        (at("a", BESIDE), [ONE, BESIDE], [], [ONE], ("a", ["beside", "one"])),
    ],
)
def test_a_pod_that_runs_keeps_the_volume_whatever_the_record_says(
    old: Attachment | None,
    users: list[Pod],
    ended: list[str],
    running: list[Pod],
    wanted: tuple[str, list[str]] | None,
) -> None:
    assert shown(next_attachment(old, users, ended, NOW, running=running)) == wanted


def test_a_node_that_has_not_confirmed_gets_the_volume_for_no_other_pod() -> None:
    assert next_attachment(None, [ONE], [], NOW, barred={"a"}) is None
    assert shown(next_attachment(None, [ONE, TWO], [], NOW, barred={"a"})) == ("b", ["two"])


@pytest.mark.parametrize(
    ("status", "started"),
    [
        ({}, False),
        ({"phase": "Pending", "containerStatuses": [{"name": "main"}]}, False),
        ({"phase": "Pending", "initContainerStatuses": [{"containerID": "containerd://1"}]}, True),
        ({"phase": "Pending", "conditions": [{"type": "PodReadyToStartContainers", "status": "True"}]}, True),
        ({"phase": "Running"}, True),
        ({"phase": "Unknown"}, True),
    ],
)
def test_what_shows_that_a_pod_has_started(status: Obj, started: bool) -> None:
    assert has_started(codec_for(Pod).convert({"status": status})) is started


def test_volumes_are_taken_in_order() -> None:
    assert next_attachment(None, [ONE], [], NOW, lambda _: False) is None


@pytest.mark.parametrize(
    ("found", "confirmed"),
    [
        (pod("one", "a", phase="Running"), False),
        (pod("one", "a", phase="Running", going=True), False),
        (pod("one", "a", phase="Failed"), True),
        (pod("one", "a", phase="Failed", by="TerminationByKubelet"), True),
        (pod("one", "a", phase="Failed", by="DeletionByPodGC"), False),
    ],
)
def test_a_pod_that_is_there_has_ended_only_if_its_node_reports_it(found: Pod, confirmed: bool) -> None:
    assert (why_unconfirmed(found, "a") == "") is confirmed


GONE = Holder("default", "one", "one", gone=True, boot="boot-1")


@pytest.mark.parametrize(
    ("record", "where", "seen", "confirmed"),
    [
        # A missing node, a node that is ready, and the passing of time are no confirmation.
        (Attachment("", (GONE,)), None, False, False),
        (Attachment("", (GONE,), gate=OPENED), None, False, False),
        (Attachment("", (GONE,), gate=CLOSED), None, False, True),
        (Attachment("", (GONE,)), None, True, True),
        (Attachment("a", (GONE,)), node("True"), False, False),
        (Attachment("a", (GONE,)), node("True"), True, True),
        (Attachment("a", (GONE,)), node("Unknown"), False, False),
        # The node lists the volumes in use: all of them, or this one at an earlier time.
        (Attachment("a", (GONE,)), node("True", in_use=[ALL_LISTED]), False, True),
        (Attachment("a", (GONE,)), node("Unknown", in_use=[ALL_LISTED]), False, True),
        (Attachment("a", (GONE,)), node("True", in_use=[ALL_LISTED, f"{ALL_LISTED}/disk"]), False, False),
        (Attachment("a", (GONE,), listed=True), node("True"), False, True),
        (Attachment("a", (GONE,), listed=True), node("True", in_use=[CSI]), False, False),
        (Attachment("a", (GONE,), listed=True), node("True", in_use=[ISCSI]), False, False),
        (Attachment("a", (GONE,), listed=True), node("True", in_use=[FC]), False, False),
        # Restarted since, or fenced, which a node that is ready contradicts.
        (Attachment("a", (GONE,)), node("True", boot="boot-1"), False, False),
        (Attachment("a", (GONE,)), node("True", boot="boot-2"), False, True),
        (
            Attachment("a", (Holder("default", "one", "one", gone=True),)),
            node("True", boot="2"),
            False,
            False,
        ),
        (Attachment("a", (GONE,)), node("Unknown", OUT), False, True),
        (Attachment("a", (GONE,)), node("False", OUT), False, True),
        (Attachment("a", (GONE,)), node("True", OUT), False, False),
        # Its Node is gone: nothing is known, but what was known when it was deleted.
        (Attachment("a", (GONE,)), None, False, False),
        (Attachment("a", (GONE,), listed=True), None, False, False),
        (Attachment("a", (GONE,)), None, True, True),
        (Attachment("a", (GONE,), deleted="confirmed"), None, False, True),
        (Attachment("a", (GONE,), deleted="confirmed"), node("Unknown"), False, False),
    ],
)
def test_a_pod_that_is_gone_has_ended_only_if_that_is_confirmed(
    record: Attachment, where: Node | None, seen: bool, confirmed: bool
) -> None:
    csi = {"driver": "disks.example.com", "volumeHandle": "h-1"}
    iscsi = {"targetPortal": "10.0.0.9:3260", "iqn": "iqn.2026-11.com.example:disk", "lun": 0}
    spec = PersistentVolumeSpec(csi=csi, iscsi=iscsi, fc={"targetWWNs": ["5006", "5007"], "lun": 2})
    disk = PersistentVolume(metadata=ObjectMeta(name="disk"), spec=spec)
    why = why_gone_unconfirmed(disk, record, record.pods[0], where, seen_to_end=seen)
    assert (why == "") is confirmed
    assert confirmed or "vacate detach disk --confirm" in why


def test_a_pod_that_was_found_gone_does_not_start_any_more() -> None:
    """Else a node that has not seen its removal could start it while the volume is given away."""
    for gone, starts in ((False, True), (True, False)):
        record = Attachment("a", (Holder("default", "one", "one", gone=gone),))
        patch = attachment_patch(volume(None), record)
        assert may_start(volume(patch["metadata"]["annotations"][ATTACHMENT]), "one", "a") is starts


def test_a_volume_that_a_node_lists_goes_to_no_other_although_its_record_is_lost() -> None:
    assert next_attachment(None, [TWO, pod("g", gated=True)], [], NOW, listing={"a"}) is None
    assert shown(next_attachment(None, [TWO, ONE], [], NOW, listing={"a"})) == ("a", ["one"])
    assert next_attachment(None, [ONE, TWO], [], NOW, listing={"a", "b"}) is None


def test_the_record_says_whether_the_gate_was_opened() -> None:
    gated = pod("g", gated=True)
    kept = next_attachment(None, [gated], [], NOW)
    assert kept is not None
    assert (kept.node, kept.gate) == ("", CLOSED)
    opened = next_attachment(kept, [pod("g")], [], NOW)  # whoever opened it
    assert opened is not None
    assert (opened.node, opened.gate) == ("", OPENED)
    placed = next_attachment(opened, [pod("g", "b")], [], NOW)
    assert placed is not None
    assert (placed.node, placed.gate) == ("b", "")


def volume(text: str | None) -> PersistentVolume:
    annotations = {} if text is None else {ATTACHMENT: text}
    return PersistentVolume(ObjectMeta(name="disk", uid="u", resource_version="7", annotations=annotations))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pods": 1}', '{"node": "a"}', '{"node": "a", "pods": []}'])
def test_a_record_that_cannot_be_read_starts_nobody(text: str) -> None:
    with pytest.raises(InvalidAttachment, match="volume disk"):
        attachment_of(volume(text))
    assert not may_start(volume(text), "one", "a")


@pytest.mark.parametrize(("node", "other"), [
    ("a", Holder("..", "two", "two")), ("a", Holder("", "two", "two")), ("a", Holder("d", "../two", "two")),
    ("a", Holder("d", "", "two")), ("a", Holder("d", "two%2f", "two")), ("a", Holder("d", "two", "")),
    ("../a", Holder("d", "two", "two")),
])  # fmt: skip
def test_a_record_that_names_what_cannot_be_starts_nobody(node: str, other: Holder) -> None:
    """The controller could not look for it, and what somebody else wrote would stand."""
    given = Attachment(node, (Holder("d", "one", "one"), other))
    text = msgspec.json.encode(given).decode()
    with pytest.raises(InvalidAttachment, match="it names something that cannot be a"):
        attachment_of(volume(text))
    assert not may_start(volume(text), "one", node)
    good = msgspec.json.encode(Attachment("a", (Holder("d", "one", "one"),))).decode()
    assert may_start(volume(good), "one", "a")
    meta = ObjectMeta(name="disk", annotations={ATTACHMENT: good, DETACHED: f"[{text}]"})
    assert not may_start(PersistentVolume(meta), "one", "a")


def test_a_node_starts_a_pod_only_if_the_record_names_both() -> None:
    patch = attachment_patch(volume(None), at("a", ONE))
    assert (patch["metadata"]["uid"], patch["metadata"]["resourceVersion"]) == ("u", "7")
    attached = volume(patch["metadata"]["annotations"][ATTACHMENT])
    assert may_start(attached, "one", "a")
    assert not may_start(attached, "one", "b")
    assert not may_start(attached, "two", "a")
    assert not may_start(volume(None), "one", "a")


def test_a_node_from_which_the_volume_was_taken_starts_no_pod_with_it() -> None:
    patch = attachment_patch(volume(None), at("a", BESIDE), (at("a", ONE),))
    taken = PersistentVolume(ObjectMeta(name="disk", annotations=patch["metadata"]["annotations"]))
    assert [shown(one) for one in detached_of(taken)] == [("a", ["one"])]
    assert not may_start(taken, "beside", "a")
    forged = {**patch["metadata"]["annotations"], DETACHED: "nonsense"}
    assert not may_start(PersistentVolume(ObjectMeta(name="disk", annotations=forged)), "beside", "a")
    cleared = attachment_patch(taken, at("a", BESIDE), ())["metadata"]["annotations"]
    assert cleared[DETACHED] is None
