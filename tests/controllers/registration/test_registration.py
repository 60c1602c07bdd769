"""Opting in: pods of today and of tomorrow are registered, and what their authors have written stays."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import web
from support.simulated.workloads import events_of
from vacate.admission.pods.workloads import REGISTERED, WORKLOADS, is_opted_in, registration_change
from vacate.api.kinds import DEPLOYMENTS, NAMESPACES, PODS
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.eviction.registration import registering, resolve
from vacate.features import FeatureGates
from vacate.sim.cluster import World

OURS = WORKLOADS[0].registration(FeatureGates())
NAMES = ("replicaset.apps.k8s.io", "deployment.apps.k8s.io")  # the last has the first turn
PREFIX = "interceptor.evictionrequest.coordination.k8s.io"


def registered(world: World) -> list[tuple[str, ...]]:
    return [resolve(pod).interceptors for pod in world.objects(PODS, "default")]


@pytest.mark.sim
def test_labelling_a_namespace_registers_its_pods_and_unlabelling_takes_that_back() -> None:
    async def body(world: World) -> None:
        await web(world, 2)
        assert registered(world) == [(), ()]
        await world.client.patch(NAMESPACES, "default", {"metadata": {"labels": {OPT_IN: "true"}}})
        await world.until(lambda: registered(world) == [NAMES, NAMES])
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await world.until(lambda: registered(world) == [NAMES] * 3)
        await world.client.patch(NAMESPACES, "default", {"metadata": {"labels": {OPT_IN: None}}})
        await world.until(lambda: registered(world) == [()] * 3)
        assert all(REGISTERED not in _annotations(pod) for pod in world.objects(PODS, "default"))

    in_world(body)


@pytest.mark.sim
def test_a_workload_opts_in_by_itself_and_out_of_a_namespace() -> None:
    async def body(world: World) -> None:
        await web(world, 1)
        await _annotate(world, "true")
        await world.until(lambda: registered(world) == [NAMES])
        await world.client.patch(NAMESPACES, "default", {"metadata": {"labels": {OPT_IN: "true"}}})
        await _annotate(world, "false")
        await world.until(lambda: registered(world) == [()])

    in_world(body)


@pytest.mark.sim
def test_an_opt_in_that_cannot_be_read_is_reported() -> None:
    async def body(world: World) -> None:
        await web(world, 1)
        await _annotate(world, "yes")
        await world.until(lambda: bool(events_of(world, "web", "OptInIgnored")))
        (message,) = events_of(world, "web", "OptInIgnored")
        assert message.startswith("vacate.dev/move-before-eviction: 'yes' is neither true nor false")
        assert registered(world) == [()]

    in_world(body)


@pytest.mark.sim
def test_pods_that_nobody_opted_in_are_never_written() -> None:
    async def body(world: World) -> None:
        await web(world, 2)
        await world.settle()
        assert all(not registering(_annotations(pod)) for pod in world.objects(PODS, "default"))

    in_world(body)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("namespace", "workload", "expected"),
    [
        ({}, {}, False),
        ({OPT_IN: "true"}, {}, True),
        ({}, {OPT_IN: "True"}, True),
        ({OPT_IN: "true"}, {OPT_IN: "false"}, False),
        ({OPT_IN: "yes"}, {}, False),
    ],
)
def test_who_has_opted_in(namespace: dict[str, str], workload: dict[str, str], expected: bool) -> None:
    assert is_opted_in(namespace, workload) is expected


@pytest.mark.unit
@pytest.mark.parametrize(
    "author",
    [
        {f"{PREFIX}/priority_deployment.apps.k8s.io": "10000/controller"},
        {f"{PREFIX}/priority_operator.example.com": "10000/controller"},
        {"evacuation.coordination.k8s.io/priority_old.example.com": "5"},
    ],
)
def test_what_an_author_has_registered_stays(author: dict[str, str]) -> None:
    assert registration_change(author, OURS, opted_in=True) == {}
    assert registration_change(author, OURS, opted_in=False) == {}


@pytest.mark.unit
def test_an_interceptor_beside_ours_keeps_its_place() -> None:
    author = {f"{PREFIX}/priority_backup.example.com": "11000"}
    change = registration_change(author, OURS, opted_in=True)
    pod: Obj = {"metadata": {"annotations": {**author, **change}}}
    assert resolve(pod).interceptors == (*NAMES, "backup.example.com")
    assert resolve(pod).field_errors == ()


async def _annotate(world: World, value: str) -> None:
    patch = {"metadata": {"annotations": {OPT_IN: value}}}
    await world.client.patch(DEPLOYMENTS, "web", patch, "default")


def _annotations(pod: Obj) -> dict[str, str]:
    return dict(pod["metadata"].get("annotations") or {})
