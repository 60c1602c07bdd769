"""A Job as fence agent: it counts only if it ended well, elsewhere, about this node, in this very step."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from support.simulated.jobs import HOME, TEMPLATE, SimulatedJobs, Work, succeeded
from vacate.api.kinds import JOBS, ROLEBINDINGS, ROLES
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec
from vacate.entropy import seeded_entropy
from vacate.fenceagents.configured import ConfiguredAgents
from vacate.fenceagents.jobagent import JobAgent
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.agents import MachineAgent
from vacate.fencing.jobs import JobCall, make_job
from vacate.sim.fenceagents import SimulatedAgents
from vacate.sim.run import Sim, run_sim

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

STATUS_OFF = succeeded('{"node":"node-1","uid":"u-1","state":"off","message":"outlet 7"}')


def played(body: Callable[[SimulatedJobs, Callable[..., JobAgent]], Awaitable[None]], work: Work) -> None:
    """Run the body with Jobs that do this work."""

    async def main(sim: Sim) -> None:
        entropy = sim.stream("jobs")
        async with SimulatedJobs(sim.clock, work) as jobs:

            def agent(step: str = "step 1") -> JobAgent:
                return JobAgent(jobs.client, sim.clock, entropy, "vacate-system", TEMPLATE, LOST, "u-1", step)

            await body(jobs, agent)

    run_sim(main, 1)


def says(message: str) -> Work:
    return lambda environment: succeeded(message)


def test_a_job_gets_its_action_by_environment_and_reports_the_state() -> None:
    environments: list[dict[str, str]] = []

    def work(environment: dict[str, str]) -> dict[str, Any]:
        environments.append(environment)
        return STATUS_OFF

    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        answer = await agent().off()
        assert (answer.ok, answer.state, answer.message) == (True, PowerState.OFF, "outlet 7")
        assert environments == [{"VACATE_NODE": LOST, "VACATE_NODE_UID": "u-1", "VACATE_ACTION": "off"}]
        assert (await agent().status()).state is PowerState.OFF
        assert jobs.made == ["off", "status"]

    played(body, work)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (says('{"node":"node-2","uid":"u-1","state":"off"}'), "about another node"),
        (says('{"node":"node-1","uid":"u-9","state":"off"}'), "about another node"),
        (says('{"node":"node-1","uid":"u-1","state":"gone"}'), "the machine is unknown"),
        (says(""), "not the answer of a fence agent"),
        (says("off"), "not the answer of a fence agent"),
        (lambda _: {"phase": "Succeeded"}, "does not say how its container fence ended"),
        (
            lambda _: succeeded('{"node":"node-1","uid":"u-1","state":"off"}', name="other"),
            "container fence ended",
        ),
        (lambda _: {**STATUS_OFF, "phase": "Failed"}, "failed: BackoffLimitExceeded"),
        (lambda _: None, "within 60 s: its pod is Running"),
    ],
)
def test_whatever_else_a_job_does_is_unclear(work: Work, message: str) -> None:
    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        for call in (agent().off, agent().status):
            answer = await call()
            assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
            assert message in answer.message

    played(body, work)


def test_a_job_on_the_node_that_it_fences_proves_nothing() -> None:
    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        jobs.node = LOST
        answer = await agent().off()
        assert (answer.ok, "which it should have fenced" in answer.message) == (False, True)

    played(body, lambda _: STATUS_OFF)


def test_the_same_step_makes_one_job_although_the_answer_was_lost() -> None:
    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        jobs.client.lost_answers = 1
        assert not (await agent().off()).ok
        assert (await agent().off()).ok
        assert jobs.made == ["off"]

    played(body, lambda _: STATUS_OFF)


def test_an_answer_of_an_earlier_step_or_read_does_not_count_again() -> None:
    state = ["off"]

    def work(environment: dict[str, str]) -> dict[str, Any]:
        return succeeded(json.dumps({"node": LOST, "uid": "u-1", "state": state[0]}))

    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        assert (await agent("step 1").off()).state is PowerState.OFF
        assert (await agent("step 1").status()).state is PowerState.OFF
        state[0] = "on"
        assert (await agent("step 2").off()).state is PowerState.ON
        assert (await agent("step 1").status()).state is PowerState.ON
        assert len(jobs.jobs) == 4

    played(body, work)


def test_a_job_that_hangs_is_deleted_and_an_earlier_one_ends_before_the_next_begins() -> None:
    """Or it could switch the machine off when the node is back."""

    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        assert not (await agent("step 1").off()).ok
        await jobs.clock.sleep(5.0)  # in the foreground: when its pod has ended
        assert jobs.jobs == {}
        # One that was left by a process that died.
        left = make_job(TEMPLATE, JobCall("off", LOST, "u-1", "step 2"), 60)
        await jobs.client.create(JOBS, left, HOME)
        jobs.work = lambda _: STATUS_OFF
        jobs.seconds = 5.0
        assert (await agent("step 3").off()).ok
        assert jobs.deleted == [jobs.deleted[0], left["metadata"]["name"]]

    played(body, lambda _: None)


@pytest.mark.parametrize("foreign", ["annotation", "environment"])
def test_a_job_of_another_owner_with_the_same_name_proves_nothing(foreign: str) -> None:
    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        job = make_job(TEMPLATE, JobCall("off", LOST, "u-1", "step 1"), 60)
        if foreign == "annotation":
            job["metadata"]["annotations"] = {}
        else:
            job["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "node-7"
        await jobs.client.create(JOBS, job, HOME)
        await jobs.clock.sleep(10.0)
        answer = await agent().off()
        assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
        assert "is not one of this fence; delete it" in answer.message
        assert jobs.deleted == []

    played(body, lambda _: STATUS_OFF)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_job_that_a_user_deletes_proves_nothing(replaced: bool) -> None:
    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        async def before(pod: Obj) -> None:
            jobs.before = None
            [name] = jobs.jobs
            await jobs.client.delete(JOBS, name, HOME, DeleteOptions(propagation_policy="Orphan"))
            while jobs.jobs:
                await jobs.clock.sleep(0.1)
            if replaced:
                again = make_job(TEMPLATE, JobCall("off", LOST, "u-1", "step 1"), 60)
                await jobs.client.create(JOBS, again, HOME)

        jobs.before = before
        answer = await agent().off()
        assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
        assert any(one in answer.message for one in ("is being deleted", "was deleted", "was replaced"))

    played(body, lambda _: STATUS_OFF)


def test_an_agent_that_may_not_follow_its_job_says_so() -> None:
    """As with the roles of an earlier version, which did not let the manager watch Jobs."""

    async def body(jobs: SimulatedJobs, agent: Callable[..., JobAgent]) -> None:
        rules = [
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "create", "delete"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        ]
        meta, group = {"name": "old", "namespace": HOME}, "rbac.authorization.k8s.io"
        await jobs.client.create(ROLES, {"metadata": meta, "rules": rules})
        binding = {
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "old"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "manager"}],
        }
        await jobs.client.create(ROLEBINDINGS, binding)
        answer = await replace(agent(), client=jobs.as_user("manager")).off()
        assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
        assert 'cannot watch resource "jobs"' in answer.message

    played(body, lambda environment: None)


class JobAgents:
    """What the controller asks, with Jobs that switch simulated machines."""

    def __init__(self, machines: SimulatedAgents) -> None:
        self.machines = machines
        self.entropy = seeded_entropy(1)
        self.lies_about = ""
        self.jobs = SimulatedJobs(machines.clock, self.work)

    async def for_node(self, spec: AgentSpec, node: Node, step: str) -> MachineAgent:
        agents = ConfiguredAgents(self.jobs.client, self.machines.clock, self.entropy, "vacate-system")
        return await agents.for_node(spec, node, step)

    def work(self, environment: dict[str, str]) -> dict[str, Any]:
        """The program in the Job."""
        node, action = environment["VACATE_NODE"], environment["VACATE_ACTION"]
        machine = self.lies_about or node
        if action != "status":
            self.machines.switch(machine, on=action == "on")
        state = str(self.machines.state(machine))
        return succeeded(json.dumps({"node": node, "uid": environment["VACATE_NODE_UID"], "state": state}))


def kept(found: list[JobAgents], machines: SimulatedAgents) -> JobAgents:
    """The agents of a world, for its test to look at."""
    found.append(JobAgents(machines))
    return found[0]


def test_a_lost_node_is_fenced_by_jobs_and_comes_back() -> None:
    found: list[JobAgents] = []

    async def body(made: Fenced) -> None:
        async with found[0].jobs:
            await fence(made)

    async def fence(made: Fenced) -> None:
        await made.policy(powerOn="Automatic", agent={"job": {"podTemplate": "fencing"}})
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.replaced()
        await made.world.until(lambda: "on" in found[0].jobs.made, 600.0)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: not made.phase() and not made.released(), 600.0)
        assert found[0].jobs.made[:3] == ["off", "status", "status"]
        assert found[0].jobs.made.count("off") == 1

    fenced(body, wrap=partial(kept, found))


def test_a_job_for_another_machine_releases_nothing() -> None:
    found: list[JobAgents] = []

    async def body(made: Fenced) -> None:
        async with found[0].jobs:
            await fence(made)

    async def fence(made: Fenced) -> None:
        found[0].lies_about = "node-3"
        await made.policy(maxFenced=2, agent={"job": {"podTemplate": "fencing"}})
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 600.0)
        assert "node-3 fell silent at the same time" in made.row()["message"]
        assert made.condition("Failing") == "True"
        await made.world.sim.clock.sleep(1200.0)
        assert not made.released()

    fenced(body, wrap=partial(kept, found))
