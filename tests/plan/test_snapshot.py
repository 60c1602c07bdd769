"""What a plan reads, keeps and saves; and files that others have written or damaged."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from vacate.api.kinds import (
    DAEMONSETS,
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    NAMESPACES,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.types.nodemaintenance import PodRules
from vacate.client.client import Client
from vacate.client.codec import Listing
from vacate.clock import SystemClock
from vacate.embedded.schema.table import Shape, table
from vacate.errors import ConfigError, Forbidden, NotFound, VacateError
from vacate.plan import snapshot as snapshots
from vacate.plan.fields import KINDS, reduced
from vacate.plan.health import examine
from vacate.plan.loading import check_wanted, has_vacate, load_objects, records_of, with_added_nodes
from vacate.plan.report import assumptions, check_nodes
from vacate.plan.run import PlanOptions
from vacate.plan.snapshot import FORMAT, VERSION, Snapshot, load, read_snapshot, save
from vacate.plan.timings import Range, observe
from vacate.testing.builders import deployment, node, pod, replicaset, statefulset
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

pytestmark = pytest.mark.unit

TAKEN = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
SECRET = "hunter2"
WEB = pod(
    "web-1",
    node="node-1",
    ready=True,
    metadata={"annotations": {"example.com/token": SECRET, "vacate.dev/reason": "kernel"}, "uid": "u1"},
    spec={
        "containers": [
            {
                "name": "main",
                "image": f"registry.example/{SECRET}:1",
                "command": ["run", SECRET],
                "env": [{"name": "PASSWORD", "value": SECRET}],
                "envFrom": [{"secretRef": {"name": SECRET}}],
                "resources": {"requests": {"cpu": "1"}},
                "lifecycle": {"preStop": {"exec": {"command": [SECRET]}, "sleep": {"seconds": 7}}},
            }
        ],
        "volumes": [{"name": "keys", "secret": {"secretName": SECRET}}, {"name": "tmp", "emptyDir": {}}],
    },
)


class Lists:
    """Answers lists as a server would whose user may not list everything."""

    def __init__(self, objects: dict[Kind, list[Obj]], refused: dict[Kind, type[Exception]]) -> None:
        self.objects, self.refused = objects, refused
        self.asked: list[Kind] = []
        self.served: tuple[Kind, ...] = ()

    async def serves(self, kind: Kind) -> bool:
        return kind in self.served

    pages = Client.pages

    async def list(
        self, kind: Kind, _namespace: str, options: ListOptions, *, into: type[Obj]
    ) -> Listing[Obj]:
        at = int(options.continue_token or 0)
        if not at:
            self.asked.append(kind)
        if kind in self.refused:
            raise self.refused[kind]("no")
        objects = self.objects.get(kind, [])
        end = at + options.limit
        return Listing(objects[at:end], "1", str(end) if end < len(objects) else "")


def read(objects: dict[Kind, list[Obj]], refused: dict[Kind, type[Exception]]) -> tuple[Snapshot, Lists]:
    lists = Lists(objects, refused)
    client: Any = lists
    return asyncio.run(read_snapshot(client, SystemClock())), lists


def test_each_kind_is_listed_once_and_secrets_and_configmaps_are_not() -> None:
    _, lists = read({}, {})
    assert lists.asked == list(KINDS)
    assert not {"secrets", "configmaps"} & {kind.plural for kind in KINDS}


def test_a_missing_right_leaves_the_kind_out_and_says_what_is_unknown() -> None:
    found, _ = read({NODES: [node("node-1", metadata={"uid": "n1"})]}, {PODDISRUPTIONBUDGETS: Forbidden})
    assert "which budgets" in found.missing["poddisruptionbudgets.policy"]
    assert len(found.of(NODES)) == 1


@pytest.mark.parametrize("installed", [True, False])
def test_a_cluster_without_vacate_is_known_although_its_kinds_may_not_be_listed(installed: bool) -> None:
    """Who may not list a kind gets the same answer whether it is there or not."""
    lists = Lists({}, {EVICTIONREQUESTS: Forbidden, NODEMAINTENANCES: Forbidden})
    lists.served = (EVICTIONREQUESTS,) if installed else ()
    client: Any = lists
    found = asyncio.run(read_snapshot(client, SystemClock()))
    assert found.apis == (("evictionrequest",) if installed else ())
    assert has_vacate(found) == installed
    assert (NODEMAINTENANCES.resource in found.missing) == installed


def test_nodes_and_pods_must_be_readable_and_vacate_need_not_be_installed() -> None:
    own: dict[Kind, type[Exception]] = {kind: NotFound for kind in KINDS if kind.custom}
    assert not read({}, own)[0].missing
    with pytest.raises(Forbidden):
        read({}, {PODS: Forbidden})


def test_objects_that_changed_while_the_cluster_was_read_are_counted() -> None:
    def version(number: str) -> Obj:
        return {**WEB, "metadata": {**WEB["metadata"], "resourceVersion": number}}

    assert read({PODS: [version("1")]}, {})[0].changed == 0  # of other objects, such as leases
    assert read({PODS: [version("1"), version("7"), version("odd")]}, {})[0].changed == 1


def test_an_object_that_cannot_be_read_is_counted() -> None:
    odd = {**WEB, "spec": {"terminationGracePeriodSeconds": "soon"}}
    found, _ = read({PODS: [WEB, odd]}, {})
    assert len(found.of(PODS)) == 1
    assert any(key.startswith("1 of 2 pods") for key in found.missing)


def test_nothing_of_the_containers_is_kept_but_what_a_drain_depends_on() -> None:
    kept = reduced(PODS, WEB)
    assert SECRET not in str(kept)
    assert kept["metadata"]["annotations"] == {"vacate.dev/reason": "kernel"}
    (container,) = kept["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "1"}}
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 7}}}
    assert kept["spec"]["volumes"] == [{"name": "tmp", "emptyDir": {}}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": WEB["spec"]}
    workload = deployment("web", template=template, metadata={"uid": "d1"})
    assert SECRET not in str(reduced(DEPLOYMENTS, workload))


def _filled(kind: Kind) -> Obj:
    """An object of the kind with a secret in every text, wherever the schema of Kubernetes has one."""
    struct = table().struct_of(kind)
    obj: Obj = _of_struct(struct.name, ()) if struct else _PLANTED[kind]
    meta = {**obj["metadata"], "annotations": {"example.com/token": SECRET, "vacate.dev/reason": "kernel"}}
    # A name is kept, and is no free text; a namespace and a uid as well.
    return {**obj, "metadata": {**meta, "name": "name", "namespace": "space", "uid": "uid", **_TIMES}}


_TIMES = {"creationTimestamp": "2026-03-01T11:00:00Z", "deletionTimestamp": "2026-03-01T12:30:00Z"}
_TEXTS = {"time": "2026-03-01T11:00:00Z", "microtime": "2026-03-01T11:00:00.000000Z", "quantity": "1"}


def _of_struct(name: str, seen: tuple[str, ...]) -> Obj:
    if seen.count(name) > 1:  # a schema within a schema, without end
        return {}
    fields = table().structs[name].fields.values()
    return {one.name: _of_shape(one.shape, (*seen, name)) for one in fields}


def _of_shape(shape: Shape, seen: tuple[str, ...]) -> Any:
    match shape.form:
        case "struct":
            return _of_struct(shape.type_name, seen)
        case "list" if shape.inner:
            return [_of_shape(shape.inner, seen)]
        case "map" if shape.inner:
            return {"key": _of_shape(shape.inner, seen)}
        case "bool":
            return True
        case "int32" | "int64" | "intorstring":
            return 1
        case other:
            return _TEXTS.get(other, SECRET)


_WORDS = """
accessModes action apiVersion claimName completedIndexes completionMode container containerName
currentRevision effect failed failedIndexes finalizers hostIP key kind managedBy matchLabelKeys
medium mismatchLabelKeys name namespace namespaces nodeAffinityPolicy nodeName nodeTaintsPolicy
nominatedNodeName operator persistentVolumeReclaimPolicy phase podManagementPolicy
podReplacementPolicy preemptionPolicy priorityClassName protocol provisioner qosClass reason
reclaimPolicy request restartPolicy schedulerName selectPolicy serviceName status storageClassName
succeeded succeededIndexes topologyKey type uid unhealthyPodEvictionPolicy updateRevision value
values volumeBindingMode volumeMode volumeName volumesInUse whenDeleted whenScaled whenUnsatisfiable
"""
_NAMES = frozenset(_WORDS.split())
"""Names, labels and their values, and words that Kubernetes or a controller chooses."""
_WEBHOOKS: Obj = {
    "metadata": {},
    "webhooks": [{"name": "a", "clientConfig": {"url": SECRET, "caBundle": SECRET}}],
}
_CONDITION = {"type": "Complete", "status": "False", "reason": "Waits", "message": SECRET}
_PLANTED: dict[Kind, Any] = {
    VALIDATING_WEBHOOKS: _WEBHOOKS,
    MUTATING_WEBHOOKS: _WEBHOOKS,
    EVICTIONREQUESTS: {
        "metadata": {},
        "spec": {
            "target": {"podRef": {"name": "a", "uid": "b"}},
            "requesters": [{"name": "a", "why": SECRET}],
        },
        "status": {"message": SECRET, "conditions": [_CONDITION], "podEvictionStatus": {"message": SECRET}},
    },
    NODEMAINTENANCES: {
        "metadata": {},
        "spec": {"nodes": ["node-1"], "reason": SECRET},
        "status": {
            "message": SECRET,
            "conditions": [_CONDITION],
            "nodes": [{"name": "node-1", "phase": "Draining", "message": SECRET}],
            "blockers": [{"kind": "DisruptionBudget", "message": SECRET, "remedies": [{"text": SECRET}]}],
        },
    },
}


def _places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths at which the secret is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from _places(inner, path)
    elif value == SECRET:
        yield path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource)
def test_no_free_text_of_any_kind_is_kept(kind: Kind) -> None:
    """A secret stands in every text of an object. It is kept only where Kubernetes allows no free text."""
    planted = _filled(kind)
    assert SECRET in str(planted)
    kept = reduced(kind, planted)
    assert {path[-1] for path in _places(kept)} <= _NAMES, kept
    assert not any({"annotations", "env", "image"} & {*path} for path in _places(kept))
    assert kept["metadata"]["annotations"] == {"vacate.dev/reason": "kernel"}


def test_images_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    image = WEB["spec"]["containers"][0]["image"]
    kept = reduced(PODS, WEB, images=True)
    assert [one["image"] for one in kept["spec"]["containers"]] == [image]
    path = tmp_path / "a.snapshot"
    for images in (True, False):
        save(Snapshot(TAKEN, {PODS: [kept]}, images=images), path)
        (found,) = load(path).of(PODS)
        assert (image in str(found), load(path).images) == (images, images)


def saved(tmp_path: Path) -> Path:
    path = tmp_path / "a.snapshot"
    save(SAVED, path)
    return path


SAVED = Snapshot(
    TAKEN,
    {PODS: [reduced(PODS, WEB)]},
    {"jobs.batch": "Jobs"},
    changed=3,
    apis=("evictionrequest", "lifecycle"),
)


def test_a_snapshot_is_read_as_it_was_saved(tmp_path: Path) -> None:
    path = saved(tmp_path)
    assert load(path) == SAVED
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o644)
    save(SAVED, path)
    assert path.stat().st_mode & 0o077 == 0


def document(**changes: Any) -> bytes:
    base = {"format": FORMAT, "version": VERSION, "taken": "2026-03-01T12:00:00Z", "objects": {}}
    return orjson.dumps({**base, **changes})


NAMELESS = {"metadata": {"name": "web\x1b[2J", "namespace": "default", "uid": "u"}}
TWICE = [reduced(PODS, WEB)] * 2


ODD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no snapshot"),
    "nested": (b"[" * 100_000, "no snapshot"),
    "foreign": (b'{"kind": "List"}', "no snapshot"),
    "cut off": (gzip.compress(document())[:-9], "cannot be read|damaged"),
    "not gzip": (b"\x1f\x8bnot gzip at all", "cannot be read|damaged"),
    "newer": (document(version=2), "version 2.*reads version 1"),
    "no time": (document(taken="yesterday"), "damaged"),
    "no objects": (document(objects=[]), "damaged"),
    "other kind": (document(objects={"secrets": []}), "another kind: 'secrets'"),
    "a number": (document(objects={"pods": [7]}), r"damaged: pods\[0\]"),
    "steers a terminal": (document(objects={"pods": [NAMELESS]}), r"damaged: pods\[0\]"),
    "twice": (document(objects={"pods": TWICE}), "two objects of one name"),
    "no name": (document(objects={"pods": [{"metadata": {"name": 3}}]}), r"damaged: pods\[0\]"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_a_file_that_is_no_snapshot_is_one_clear_error(tmp_path: Path, name: str) -> None:
    content, why = ODD_FILES[name]
    path = tmp_path / "odd.snapshot"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        load(path)


_APART = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
_ROLLOUT = {"apiVersion": "argoproj.io/v1", "kind": "Rollout", "name": "web", "uid": "r", "controller": True}
_RULE = {"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods/eviction"]}
WHOLE: dict[Kind, Obj] = {
    NODES: node(
        "node-1",
        labels={"zone": "a"},
        metadata={"uid": "n"},
        spec={"taints": [{"key": "only", "effect": "NoSchedule"}]},
    ),
    NAMESPACES: {"metadata": {"name": "default", "uid": "ns", "labels": {"team": "web"}}},
    PODS: pod(
        "web-2",
        node="node-1",
        labels={"app": "web"},
        metadata={"uid": "w", "ownerReferences": [_ROLLOUT], "annotations": {"vacate.dev/reason": "kernel"}},
        spec={
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_APART]}},
            "tolerations": [{"key": "only", "operator": "Exists"}],
        },
    ),
    VALIDATING_WEBHOOKS: {
        "metadata": {"name": "guard", "uid": "g"},
        "webhooks": [{"name": "guard.example.com", "timeoutSeconds": 3, "rules": [_RULE]}],
    },
}


def _everywhere(value: Any, *above: str | int) -> Iterator[tuple[str | int, ...]]:
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    for step, one in inner:
        yield (*above, step)
        yield from _everywhere(one, *above, step)


@pytest.mark.parametrize("odd", [None, "x\x1b[2J", 1e30, [None], "gone"], ids=repr)
def test_whatever_stands_anywhere_in_a_file_is_one_clear_error_or_no_harm(tmp_path: Path, odd: Any) -> None:
    path = tmp_path / "odd.snapshot"
    whole = {kind.resource: [reduced(kind, one)] for kind, one in WHOLE.items()}
    for *above, last in _everywhere(whole):
        given: Any = orjson.loads(orjson.dumps(whole))
        at = given
        for step in above:
            at = at[step]
        at[last] = odd
        if odd == "gone":
            del at[last]
        path.write_bytes(document(objects=given))
        with contextlib.suppress(VacateError):
            found = load(path)
            check_nodes(found, ["node-1"])
            for snapshot in (found, with_added_nodes(found, 1, "node-1")):
                assert assumptions(snapshot, PlanOptions(("node-1",), {}))
                assert [*records_of(load_objects(snapshot).objects, TAKEN)]
                assert examine(snapshot, PodRules()).nodes


def test_a_value_that_nests_deeper_than_can_be_read(tmp_path: Path) -> None:
    odd = {**WEB, "spec": {**WEB["spec"], "affinity": {"nodeAffinity": "DEEP"}}}
    path = tmp_path / "deep.snapshot"
    path.write_bytes(document(objects={"pods": [odd]}).replace(b'"DEEP"', b"[" * 900 + b"]" * 900))
    with pytest.raises(ConfigError, match=r"damaged: pods\[0\]"):
        load(path)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    monkeypatch.setattr(snapshots, "MAX_OBJECTS", 0)
    with pytest.raises(ConfigError, match="more than 0 objects"):
        load(path)
    monkeypatch.setattr(snapshots, "MAX_BYTES", 100)
    with pytest.raises(ConfigError, match="larger than"):
        load(path)


def test_a_cluster_is_read_in_pages_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vacate.client.client.PAGE", 2)
    pods = [{**WEB, "metadata": {**WEB["metadata"], "name": f"web-{n}"}} for n in range(5)]
    assert len(read({PODS: pods}, {})[0].of(PODS)) == 5
    monkeypatch.setattr(snapshots, "MAX_OBJECTS", 4)
    with pytest.raises(ConfigError, match="the cluster has more than 4 objects"):
        read({PODS: pods}, {})


def test_values_are_counted_before_they_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hostile.snapshot"
    path.write_bytes(gzip.compress(document(objects={"pods": [{}] * 1000})))
    monkeypatch.setattr(snapshots, "MAX_VALUES", 999)
    monkeypatch.setattr(orjson, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(ConfigError, match="more than 999 values"):
        load(path)


MANY = 1_000_000
_JOB = {"metadata": {"uid": "j", "name": "batch", "namespace": "default"}}
_DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (
            {DEPLOYMENTS: [deployment("web", replicas=MANY, metadata={"uid": "d"})]},
            "Deployment/web alone 1,000,000",
        ),
        ({REPLICASETS: [replicaset("web", replicas=MANY, metadata={"uid": "r"})]}, "ReplicaSet/web alone"),
        ({STATEFULSETS: [statefulset("db", replicas=MANY, metadata={"uid": "s"})]}, "StatefulSet/db alone"),
        ({JOBS: [{**_JOB, "spec": {"parallelism": MANY, "completions": MANY}}]}, "Job/batch alone"),
        ({JOBS: [{**_JOB, "spec": {"parallelism": MANY, "completions": 5}}]}, ""),
        ({JOBS: [{**_JOB, "spec": {"parallelism": MANY, "suspend": True}}]}, ""),
        ({JOBS: [{**_JOB, "spec": {"parallelism": MANY}, "status": _DONE}]}, ""),
    ],
)
def test_workloads_that_want_more_pods_than_a_plan_can_make(objects: dict[Kind, list[Obj]], why: str) -> None:
    snapshot = Snapshot(TAKEN, objects)
    if not why:
        check_wanted(snapshot)
        return
    with pytest.raises(ConfigError, match=why):
        check_wanted(snapshot)


def test_the_floor_of_an_autoscaler_and_daemonsets_are_counted_too() -> None:
    web = [deployment("web", replicas=1, metadata={"uid": "d"})]
    scaler = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": {"name": "web"}, "minReplicas": MANY},
    }
    with pytest.raises(ConfigError, match="Deployment/web alone"):
        check_wanted(Snapshot(TAKEN, {DEPLOYMENTS: web, HORIZONTALPODAUTOSCALERS: [scaler]}))
    with pytest.raises(ConfigError, match="2,000 DaemonSets on 1,001 nodes"):
        check_wanted(Snapshot(TAKEN, {DAEMONSETS: [{}] * 2000, NODES: [{}] * 1001}))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(tmp_path / "none")


def test_a_pod_of_a_controller_that_is_not_simulated_is_recreated_as_it_is() -> None:
    rollout = {"apiVersion": "example.com/v1", "kind": "Cluster", "metadata": {"name": "db", "uid": "c1"}}
    members = [
        reduced(PODS, pod(f"db-{n}", node="node-1", ready=True, owner=rollout, metadata={"uid": f"p{n}"}))
        for n in range(2)
    ]
    loaded = load_objects(Snapshot(TAKEN, {PODS: members}))
    assert loaded.recreated == {"Cluster (example.com/v1)": 2}
    made = [obj for kind, obj in loaded.objects if kind.plural == "replicasets"]
    assert [(one["spec"]["replicas"], loaded.workloads[one["metadata"]["uid"]]) for one in made] == [
        (1, "default Cluster/db")
    ] * 2


def test_what_could_not_be_read_is_not_taken_for_a_fault() -> None:
    """Deployments without ReplicaSets would make new pods; claims without volumes would hold them."""
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "db"}}
    spec = {"volumes": [claim, {"name": "tmp", "emptyDir": {}}]}
    db = reduced(PODS, pod("db", node="node-1", ready=True, metadata={"uid": "p"}, spec=spec))
    objects = {PODS: [db], DEPLOYMENTS: [reduced(DEPLOYMENTS, deployment("web", metadata={"uid": "d"}))]}
    missing = {"replicasets.apps": "", "persistentvolumes": ""}
    loaded = load_objects(Snapshot(TAKEN, objects, missing)).objects
    assert [kind for kind, _ in loaded if kind.plural in ("deployments", "replicasets")] == []
    (found,) = (obj for kind, obj in loaded if kind is PODS)
    assert [one["name"] for one in found["spec"]["volumes"]] == ["tmp"]
    assert len(load_objects(Snapshot(TAKEN, objects)).objects) == len(loaded) + 1


def timed(name: str, start: int, ready: int, *, restarts: int = 0, is_ready: bool = True) -> Obj:
    began = TAKEN + dt.timedelta(seconds=start)
    at = {"PodScheduled": TAKEN, "Ready": began + dt.timedelta(seconds=ready)}
    return {
        "metadata": {"uid": name, "ownerReferences": [{"uid": "owner", "controller": True}]},
        "spec": {},
        "status": {
            "phase": "Running",
            "conditions": [
                {
                    "type": type_,
                    "status": "True" if is_ready else "False",
                    "lastTransitionTime": moment.isoformat(),
                }
                for type_, moment in at.items()
            ],
            "containerStatuses": [
                {"restartCount": restarts, "state": {"running": {"startedAt": began.isoformat()}}}
            ],
        },
    }


def test_times_are_read_from_pods_that_run_since_their_start() -> None:
    found = observe(
        [
            timed("a", 5, 10),
            timed("b", 9, 20),
            timed("restarted", 500, 500, restarts=2),
            timed("broken", 5, 5, is_ready=False),
        ]
    )
    assert found.pods == 2
    assert found.start["owner"] == Range(5, 9)
    assert found.ready["owner"] == Range(10, 20)
    assert found.unready == {"broken"}
    assert found.longest() == 29


def test_without_any_pod_that_shows_it_a_range_is_assumed() -> None:
    found = observe([])
    assert (found.any_start.at(0.0), found.any_start.at(0.5), found.any_start.at(1.0)) == (10, 20, 30)
