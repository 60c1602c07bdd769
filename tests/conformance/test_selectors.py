"""Label and field selectors."""

from __future__ import annotations

import pytest

from support.arms.caseapi import CaseApi, names
from support.arms.marks import CONFORMANCE
from support.arms.objects import config_map, named, pod
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PODS, REPLICASETS, Kind

pytestmark = CONFORMANCE

LABELS = {
    "a": {"app": "web", "tier": "front"},
    "b": {"app": "web", "tier": "back"},
    "c": {"app": "db"},
    "d": {"n": "5", "example.com/key": "v"},
}
SELECTED = {
    "app=web": ["a", "b"],
    "app==web": ["a", "b"],
    "app!=web,mine": ["c", "d"],
    "app in (web, db)": ["a", "b", "c"],
    "app notin (web),mine": ["c", "d"],
    "tier": ["a", "b"],
    "!tier,mine": ["c", "d"],
    "app=web,tier=back": ["b"],
    "n>4": ["d"],
    "n<4": [],
    "example.com/key=v": ["d"],
    "app=": [],
}


@pytest.mark.parametrize("selector", SELECTED)
async def test_labels(api: CaseApi, selector: str) -> None:
    for name, labels in LABELS.items():
        await api.given(CONFIGMAPS, config_map(name, {**labels, "mine": "yes"}))
    listed = await api.listed(CONFIGMAPS, {"labelSelector": selector})
    assert names(listed) == SELECTED[selector]


KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
BAD_LABELS = {
    "a=b,": "found '', expected: identifier after ','",
    "a b": "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
    "a in b": "unable to parse requirement: found 'b' expected: '('",
    "a in (b": "unable to parse requirement: found '', expected: ',' or ')'",
    "=a": "found '=', expected: !, identifier, or 'end of string'",
    "-a=b": f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY}',
}


@pytest.mark.parametrize("selector", BAD_LABELS)
async def test_bad_label_selectors(api: CaseApi, selector: str) -> None:
    answer = await api.ask("GET", CONFIGMAPS, query={"labelSelector": selector})
    answer.refused(400, "BadRequest", BAD_LABELS[selector])


async def test_pods_by_fields(api: CaseApi) -> None:
    await api.given(PODS, pod("a", node="n1"))
    await api.given(PODS, pod("b", node="n2", restartPolicy="Never"))
    for selector, found in {
        "spec.nodeName=n1": ["a"],
        "spec.nodeName!=n1": ["b"],
        "metadata.name=b": ["b"],
        "spec.restartPolicy=Never": ["b"],
        "spec.nodeName=n2,status.phase=Pending": ["b"],
        f"metadata.namespace={api.namespace}": ["a", "b"],
        "metadata.namespace=elsewhere": [],
    }.items():
        assert names(await api.listed(PODS, {"fieldSelector": selector})) == found, selector


async def test_events_by_fields(api: CaseApi) -> None:
    for name, involved in (("a", "x"), ("b", "y")):
        about = {"kind": "Pod", "name": involved, "namespace": api.namespace}
        event = named(
            name, involvedObject=about, reason=f"R{name}", type="Normal", source={"component": name}
        )
        await api.given(EVENTS, event)
    for selector in ("involvedObject.name=y", "reason=Rb", "source=b", "involvedObject.name!=x"):
        assert names(await api.listed(EVENTS, {"fieldSelector": selector})) == ["b"], selector


async def test_namespaces_by_phase(api: CaseApi) -> None:
    query = {"fieldSelector": f"status.phase=Active,metadata.name={api.namespace}"}
    assert names(await api.listed(NAMESPACES, query)) == [api.namespace]


async def test_nodes_by_schedulability(api: CaseApi) -> None:
    name = api.unique("n")
    await api.given(NODES, named(name, spec={"unschedulable": True}))
    query = {"fieldSelector": "spec.unschedulable=true"}
    assert name in names(await api.listed(NODES, query))
    query = {"fieldSelector": "spec.unschedulable=false"}
    assert name not in names(await api.listed(NODES, query))


async def test_a_field_selector_that_nobody_understands(api: CaseApi) -> None:
    answer = await api.ask("GET", PODS, query={"fieldSelector": "spec.nodeName"})
    message = "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"
    answer.refused(400, "BadRequest", message)


@pytest.mark.parametrize("kind", [PODS, NODES, NAMESPACES, EVENTS], ids=lambda kind: kind.plural)
async def test_a_field_that_cannot_be_selected_by(api: CaseApi, kind: Kind) -> None:
    answer = await api.ask("GET", kind, query={"fieldSelector": "spec.colour=red"})
    answer.refused(400, "BadRequest", "field label not supported: spec.colour")


@pytest.mark.parametrize("kind", [CONFIGMAPS, DEPLOYMENTS, REPLICASETS], ids=lambda kind: kind.plural)
async def test_kinds_that_are_selected_by_name_only(api: CaseApi, kind: Kind) -> None:
    answer = await api.ask("GET", kind, query={"fieldSelector": "status.replicas=1"})
    known = 'only "metadata.name", "metadata.namespace"'
    answer.refused(400, "BadRequest", f'"status.replicas" is not a known field selector: {known}')
