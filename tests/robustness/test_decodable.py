"""Whatever the server accepts, every projection decodes: each field that we decode, with each odd value."""

from __future__ import annotations

import copy
import datetime as dt
import importlib
import math
import pkgutil
from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vacate
from embedded.registry.given import NOW, RUNNING, VALID
from support.effort import another_part
from support.embedded import Embedded, embedded, namespace
from support.hostile.odd_values import NUMBERS, VALUES, changed, leaves
from vacate.api import kinds
from vacate.api.integers import LIMITS, fits, whole
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.times import TIME_PATTERN, after, is_acceptable, is_time, parse_time
from vacate.api.types import apps, autoscaling, core, policy, storage
from vacate.api.types.batch import Job
from vacate.api.types.deschedulingpolicy import DeschedulingPolicy
from vacate.api.types.evacuation import Evacuation
from vacate.api.types.evictionrequest import EvictionRequest, EvictionRequestStatus
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.api.types.lifecycle import Eviction, LifecycleRequest
from vacate.api.types.meta import Projection
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client.codec import codec_for
from vacate.crds.catalogue import DECLARATIONS, declaration_of
from vacate.crds.schema import structural_schema
from vacate.crds.schema.formats import is_date_time, matches
from vacate.embedded import schema
from vacate.embedded.controllers.kinds import MetadataOnly
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.schema.wholenumbers import make_whole
from vacate.errors import UnreadableObject
from vacate.eviction.dialects.evacuation.translation import EvacuationRecord
from vacate.eviction.dialects.lifecycle.requests import LifecycleRequestRecord
from vacate.eviction.dialects.lifecycle.translation import LifecycleRecord
from vacate.features import parse_feature_gates
from vacate.nodeagent.view import AgentPod

pytestmark = pytest.mark.unit

PROJECTIONS: dict[Kind, tuple[type, ...]] = {
    kinds.PODS: (core.Pod, SimulatedPod, AgentPod),
    kinds.NODES: (core.Node,),
    kinds.NAMESPACES: (core.Namespace,),
    kinds.CONFIGMAPS: (core.ConfigMap,),
    kinds.SERVICEACCOUNTS: (core.ServiceAccount,),
    kinds.EVENTS: (core.Event,),
    kinds.LIFECYCLE_REQUESTS: (LifecycleRequest,),
    kinds.LIFECYCLE_EVICTIONS: (Eviction,),
    kinds.PODDISRUPTIONBUDGETS: (policy.PodDisruptionBudget,),
    kinds.LEASES: (policy.Lease,),
    kinds.PRIORITYCLASSES: (policy.PriorityClass,),
    kinds.REPLICASETS: (apps.ReplicaSet,),
    kinds.DEPLOYMENTS: (apps.Deployment,),
    kinds.PERSISTENTVOLUMES: (storage.PersistentVolume,),
    kinds.PERSISTENTVOLUMECLAIMS: (storage.PersistentVolumeClaim,),
    kinds.STORAGECLASSES: (storage.StorageClass,),
    kinds.STATEFULSETS: (apps.StatefulSet,),
    kinds.DAEMONSETS: (apps.DaemonSet,),
    kinds.CONTROLLERREVISIONS: (apps.ControllerRevision,),
    kinds.HORIZONTALPODAUTOSCALERS: (autoscaling.HorizontalPodAutoscaler,),
    kinds.JOBS: (Job,),
    kinds.EVICTIONREQUESTS: (EvictionRequest,),
    kinds.EVACUATIONS: (Evacuation,),
    kinds.NODEMAINTENANCES: (NodeMaintenance,),
    kinds.FENCINGPOLICIES: (FencingPolicy,),
    kinds.DESCHEDULINGPOLICIES: (DeschedulingPolicy,),
}


async def accepted(server: Embedded, kind: Kind, obj: Obj, path: tuple[str, ...]) -> bytes | None:
    """The object as the server would store it; None where it refuses it."""
    place = "shop" if kind.namespaced else None
    body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
    dry = {"dryRun": "All"}
    if path[0] == "status":
        where = kind.object_path(obj["metadata"]["name"], place, "status")
        answer = await server.ask("PUT", where, body, query=dry)
    else:
        answer = await server.ask("POST", kind.collection_path(place), body, query=dry)
    assert answer.code < 500, (kind.kind, path, answer.body)
    return orjson.dumps(answer.body) if answer.code < 300 else None


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize("kind", PROJECTIONS, ids=lambda kind: kind.kind)
async def test_what_is_accepted_is_decoded(kind: Kind) -> None:
    taken = 0
    async with embedded(gates=parse_feature_gates("EvacuationAPI=true,LifecycleAPI=true")) as server:
        server.clock.moment = NOW
        await server.seed(kinds.NAMESPACES, namespace("shop"))
        await server.seed(kinds.PODS, copy.deepcopy(RUNNING["web"]))
        paths = dict.fromkeys(path for into in PROJECTIONS[kind] for path in leaves(into))
        base = copy.deepcopy(VALID[kind])
        if kind in (kinds.PODS, kinds.NAMESPACES):
            base["metadata"]["name"] = "another"
        for number, path in enumerate(sorted(paths, key=lambda path: path[0] == "status")):
            if path == ("status",):
                base["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
                base = await server.seed(kind, base)
            for value in another_part(VALUES, number):
                body = await accepted(server, kind, changed(base, path, value), path)
                if body is None:
                    continue
                taken += 1
                for into in (*PROJECTIONS[kind], MetadataOnly):
                    codec_for(into).decode(body)
    assert taken > len(another_part(list(paths), 0))


def test_every_projection_is_looked_at() -> None:
    for module in pkgutil.walk_packages(vacate.__path__, "vacate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    known = {into for all_of in PROJECTIONS.values() for into in all_of} | {MetadataOnly}
    # Made of other projections, and never decoded themselves.
    known |= {EvacuationRecord, LifecycleRecord, LifecycleRequestRecord}
    known.add(Job)  # the embedded server has none; it is read as Kubernetes' own has written it
    assert {one for one in _below(Projection) if "metadata" in one.__struct_fields__} - known == set()


def _below(base: type[Projection]) -> Iterator[type[Projection]]:
    for one in base.__subclasses__():
        yield one
        yield from _below(one)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [one.kind for one in DECLARATIONS], ids=lambda kind: kind.kind)
def test_what_the_definition_accepts_is_decoded(kind: Kind) -> None:
    """On clusters without our webhook the definition's schema is all that stands before a value."""
    into, taken = PROJECTIONS[kind][0], 0
    for path in dict.fromkeys(leaves(into)):
        if path[0] == "metadata":
            continue
        for value in VALUES:
            obj = changed(VALID[kind], path, value)
            declaration_of(kind).structure.prune(obj)
            declaration_of(kind).structure.fill_defaults(obj)
            if not declaration_of(kind).structure.field_errors(obj):
                taken += 1
                codec_for(into).convert(obj)
    assert taken > 50


@given(st.one_of(st.from_regex(TIME_PATTERN, fullmatch=True), st.from_regex(r"\d{4}-\d\d-\d\dT\S{1,30}Z?")))
def test_times_that_the_definition_accepts(text: str) -> None:
    """Pattern and format, as kube-apiserver reads them, accept what admission and decoder accept."""
    by_schema = matches(TIME_PATTERN, text) and is_date_time(text)
    assert by_schema == is_time(text)
    body = orjson.dumps({"heartbeatTime": text})
    if by_schema:
        found = codec_for(EvictionRequestStatus).decode(body).heartbeat_time
        assert found is not None
        assert is_acceptable(found)
        assert abs(found - parse_time(text)) < dt.timedelta(seconds=1)
        assert after(found, 86_400) - found == dt.timedelta(days=1)


def integers(shape: Obj, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Obj]]:
    """The path and the schema of each integer."""
    if shape.get("type") == "integer":
        yield path, shape
    for key, one in shape.get("properties", {}).items():
        yield from integers(one, (*path, key))
    if "items" in shape:
        yield from integers(shape["items"], (*path, ""))


INTEGERS = [(one.kind, *found) for one in DECLARATIONS for found in integers(structural_schema(one.struct))]


@pytest.mark.parametrize(
    ("kind", "path", "schema"), INTEGERS, ids=[f"{kind.kind}-{'.'.join(path)}" for kind, path, _ in INTEGERS]
)
def test_integers_that_the_definition_accepts(kind: Kind, path: tuple[str, ...], schema: Obj) -> None:
    """Schema and decoder go by one definition; the schema may be narrower, by limits of the field's own."""
    assert schema["format"] in LIMITS
    for value in (*NUMBERS, -(2**63) - 1, 10**40):
        obj = changed(VALID[kind], path, value)
        declaration_of(kind).structure.prune(obj)
        accepted_value = not any(
            one.path.endswith(path[-1])
            for one in declaration_of(kind).structure.field_errors(copy.deepcopy(obj))
        )
        decoded = True
        try:
            codec_for(PROJECTIONS[kind][0]).convert(obj)
        except UnreadableObject:
            decoded = False
        assert decoded == fits(whole(value), schema["format"]), value
        assert accepted_value == (decoded and _within(schema, value)), value


def _within(schema: Obj, value: float) -> bool:
    return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))


@given(st.integers() | st.floats(allow_nan=False))
def test_no_number_of_an_object_is_taken_for_another(number: float) -> None:
    """Whatever a strategic patch, a merge patch or a create says: kept as it is, or refused."""
    given_obj = {"spec": {"replicas": number}}
    make_whole(kinds.DEPLOYMENTS, given_obj)
    if schema.settle(kinds.DEPLOYMENTS, given_obj):
        assert not fits(whole(number), "int32")
        return
    assert given_obj["spec"]["replicas"] == number
