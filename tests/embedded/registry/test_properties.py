"""What holds for every kind and any input."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.registry.given import STORED_KINDS, VALID, a, context, put, stored
from support.effort import examples
from vacate.api.fielderrors import FieldError
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.untyped import mapping
from vacate.embedded.registry.strategies import strategy_for
from vacate.errors import ApiError

pytestmark = pytest.mark.unit

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(STORED_KINDS)
SUBRESOURCES = st.sampled_from(("", "status", "finalize"))
# Every field that some strategy reads, so that wrong types meet the code that reads them.
FIELDS = (
    "metadata.name", "metadata.generateName", "metadata.namespace", "metadata.labels",
    "metadata.annotations", "metadata.finalizers", "metadata.ownerReferences",
    "metadata.ownerReferences[0]", "metadata.generation", "metadata.deletionTimestamp",
    "metadata.resourceVersion", "metadata.labels.a", "metadata.annotations.a", "spec", "status",
    "spec.selector", "spec.selector.matchLabels", "spec.selector.matchExpressions", "spec.template",
    "spec.template.spec", "spec.template.metadata", "spec.strategy", "spec.strategy.rollingUpdate",
    "spec.replicas", "spec.minAvailable", "spec.maxUnavailable", "spec.containers", "spec.containers[0]",
    "spec.containers[0].name", "spec.containers[0].image", "spec.containers[0].ports",
    "spec.containers[0].ports[0]", "spec.containers[0].env", "spec.containers[0].env[0].valueFrom",
    "spec.containers[0].resources", "spec.containers[0].resources.limits",
    "spec.containers[0].livenessProbe", "spec.containers[0].livenessProbe.httpGet",
    "spec.containers[0].lifecycle", "spec.containers[0].volumeMounts", "spec.initContainers",
    "spec.volumes", "spec.volumes[0]", "spec.tolerations", "spec.tolerations[0]", "spec.affinity",
    "spec.affinity.nodeAffinity", "spec.affinity.podAffinity", "spec.topologySpreadConstraints",
    "spec.topologySpreadConstraints[0]", "spec.schedulingGates", "spec.readinessGates",
    "spec.nodeSelector", "spec.evictionInterceptors", "spec.priorityClassName", "spec.priority",
    "spec.overhead", "spec.resources", "spec.taints", "spec.finalizers", "spec.activeDeadlineSeconds",
    "spec.terminationGracePeriodSeconds", "spec.hostNetwork", "spec.podCIDRs",
    "spec.leaseDurationSeconds", "status.capacity", "status.capacity.cpu", "status.addresses",
    "status.conditions", "status.conditions[0]", "status.containerStatuses",
    "status.containerStatuses[0].state", "status.podIPs", "status.replicas", "status.phase", "data",
    "data.a", "binaryData", "immutable", "secrets", "value", "preemptionPolicy", "globalDefault", "rules",
    "rules[0]", "rules[0].verbs", "aggregationRule", "aggregationRule.clusterRoleSelectors", "roleRef",
    "subjects", "subjects[0]", "involvedObject", "eventTime", "spec.type", "spec.target",
    "spec.target.podRef", "spec.target.podRef.name", "spec.target.podRef.uid", "spec.requesters",
    "spec.requesters[0]", "spec.requesters[0].name", "spec.interceptors", "spec.interceptors[0].name",
    "spec.heartbeatDeadlineSeconds", "status.message", "status.activeInterceptorName",
    "status.activeInterceptorCompleted", "status.expectedInterceptorFinishTime", "status.heartbeatTime",
    "status.evictionRequestCancellationPolicy", "status.podEvictionStatus",
    "status.podEvictionStatus.failedAPIEvictionCounter",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Kind, Obj]:
    """A valid object in which some fields have values of any type."""
    kind = draw(KINDS)
    obj = copy.deepcopy(VALID[kind])
    for path in draw(st.lists(st.sampled_from(FIELDS), max_size=5)):
        try:
            put(obj, path, draw(JSON))
        except (TypeError, LookupError, AttributeError):
            continue  # an earlier change left nothing to go through
    return kind, obj


def plain(obj: Obj) -> str:
    return json.dumps(obj, sort_keys=True)


def walked(kind: Kind, obj: Obj) -> list[FieldError] | None:
    """Create the object, and where that is not refused, return the errors."""
    strategy, ctx = strategy_for(kind), context()
    try:
        strategy.default(obj, ctx)
        strategy.prepare_create(obj, ctx)
    except ApiError:
        return None
    return strategy.validate(obj, ctx)


@settings(max_examples=examples(300), deadline=None)
@given(damaged())
def test_no_object_makes_a_strategy_fail(case: tuple[Kind, Obj]) -> None:
    kind, obj = case
    for field_error in walked(kind, obj) or []:
        assert str(field_error)


@settings(max_examples=examples(100), deadline=None)
@given(KINDS, st.dictionaries(st.sampled_from(("metadata", "spec", "status", "data", "rules", "x")), JSON))
def test_no_json_makes_a_strategy_fail(kind: Kind, obj: Obj) -> None:
    walked(kind, obj)


@settings(max_examples=examples(200), deadline=None)
@given(damaged(), SUBRESOURCES)
def test_no_update_makes_a_strategy_fail(case: tuple[Kind, Obj], subresource: str) -> None:
    kind, new = case
    strategy, ctx, old = strategy_for(kind), context(subresource), stored(kind)
    try:
        strategy.default(new, ctx)
        strategy.prepare_update(new, old, ctx)
        field_errors = strategy.validate_update(new, old, ctx)
    except ApiError:
        return
    assert all(str(field_error) for field_error in field_errors)


@settings(max_examples=examples(200), deadline=None)
@given(damaged())
def test_defaulting_twice_changes_nothing(case: tuple[Kind, Obj]) -> None:
    kind, obj = case
    try:
        strategy_for(kind).default(obj, context())
        once = plain(obj)
        strategy_for(kind).default(obj, context())
    except ApiError:
        return
    assert plain(obj) == once


@settings(max_examples=examples(200), deadline=None)
@given(damaged(), SUBRESOURCES)
def test_an_object_without_errors_may_be_written_again(case: tuple[Kind, Obj], subresource: str) -> None:
    kind, obj = case
    # The real server looks for repeated addresses of a node only on updates, and so do we.
    if walked(kind, obj) != [] or "addresses" in mapping(obj.get("status")):
        return
    obj["metadata"].update(uid="u-1", resourceVersion="7", creationTimestamp="2026-08-20T11:00:00Z")
    strategy, ctx, again = strategy_for(kind), context(subresource), copy.deepcopy(obj)
    strategy.default(again, ctx)
    strategy.prepare_update(again, obj, ctx)
    assert strategy.validate_update(again, obj, ctx) == []
    assert plain(again) == plain(obj)


@pytest.mark.parametrize("kind", STORED_KINDS, ids=lambda kind: kind.kind)
def test_valid_objects_have_no_errors(kind: Kind) -> None:
    assert walked(kind, a(kind)) == []


@pytest.mark.parametrize("kind", STORED_KINDS, ids=lambda kind: kind.kind)
def test_writing_a_stored_object_again_changes_nothing(kind: Kind) -> None:
    for subresource in ("", "status"):
        old, ctx = stored(kind), context(subresource)
        new = copy.deepcopy(old)
        strategy_for(kind).default(new, ctx)
        strategy_for(kind).prepare_update(new, old, ctx)
        assert json.dumps(new) == json.dumps(old)
