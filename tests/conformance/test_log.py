"""pods/log: which container is meant. What it printed needs a node, and is tested with one."""

from __future__ import annotations

from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import pod
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE


async def test_asks_for_a_container_that_is_there(api: CaseApi) -> None:
    two = pod("p")
    first = two["spec"]["containers"][0]
    two["spec"]["containers"] = [{**first, "name": "a"}, {**first, "name": "b"}]
    await api.given(PODS, two)
    answer = await api.ask("GET", PODS, "p", "log")
    answer.refused(400, "BadRequest", "a container name must be specified for pod p, choose one of: [a b]")
    answer = await api.ask("GET", PODS, "p", "log", query={"container": "c"})
    answer.refused(400, "BadRequest", "container c is not valid for pod p")


async def test_of_a_pod_that_is_not_there(api: CaseApi) -> None:
    (await api.ask("GET", PODS, "p", "log")).refused(404, "NotFound", 'pods "p" not found')
