"""Whatever keeps an eviction from going on is said by each command within ten seconds, with what helps.

Each row is a cause, each column a command. An empty cell is one that the cause does not reach.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable

import pytest

from support.matrix.place import Refusal
from support.matrix.simulated import MANAGER, SimulatedPlace
from support.simulated.clusters import in_world
from vacate.api.installednames import MANAGER as LEASE
from vacate.api.installednames import NODE_MAINTAINER, TROUBLE
from vacate.api.kinds import (
    EVACUATIONS,
    EVICTIONREQUESTS,
    LEASES,
    LIFECYCLE_EVICTIONS,
    NODEMAINTENANCES,
    PODS,
)
from vacate.api.times import format_micro_time
from vacate.cli.common.connection import Cluster
from vacate.cli.common.remedies import with_remedy, with_role
from vacate.cli.drain.start import DrainOptions, StartedDrain, start_drain
from vacate.cli.evict.eviction import Eviction, EvictOptions
from vacate.cli.evict.selection import Selection
from vacate.cli.explain.command import explain_pod
from vacate.cli.explain.text import as_lines
from vacate.cli.status.command import show_requests
from vacate.cli.status.view import View
from vacate.entropy import seeded_entropy
from vacate.errors import Forbidden, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.features import parse_feature_gates
from vacate.sdk import Requester
from vacate.sim.cluster import World
from vacate.webhook.evictionbridge import BRIDGE_GATE
from vacate.wire.message import Peer

pytestmark = pytest.mark.sim

SECONDS = dt.timedelta(seconds=10)
HOOK, JANE = "hook.example.com", Peer("jane", ("system:authenticated",))
DRAINED = {"daemonSetPods": "Ignore", "unmanagedPods": "Evict", "localDataPods": "Evict"}
EMBEDDED_REMEDY = "vacate manager"


Lab = SimulatedPlace


async def drain(lab: Lab, cluster: Cluster) -> None:
    spec = {"pods": DRAINED, "requestKind": lab.dialect.request_kind}
    options = DrainOptions((lab.node,), "", spec, False, False, SECONDS, "")
    await start_drain(cluster, options, StartedDrain())


async def evict(lab: Lab, cluster: Cluster) -> None:
    name = lab.dialect.participant("jane.example.com")
    requester = Requester(
        cluster.client, name, clock=cluster.clock, entropy=seeded_entropy(1), dialect=lab.dialect
    )
    await Eviction(cluster, requester, EvictOptions(wait=True, timeout=SECONDS)).run(("p",), Selection())


async def status(lab: Lab, cluster: Cluster) -> None:
    await begun(lab)
    await show_requests(cluster, View("default"))


async def explain(lab: Lab, cluster: Cluster) -> None:
    await begun(lab)
    explanation, _ = await explain_pod(cluster, "p")
    print("\n".join(as_lines(explanation, 0)))


async def bridge(lab: Lab, cluster: Cluster) -> None:
    """As `kubectl drain` does: it tries again, and prints the last answer."""
    for _ in range(int(SECONDS.total_seconds()) // 5 + 1):
        try:
            await cluster.client.evict("p", "default")
        except VacateError as error:
            last = error
        await lab.world.sim.clock.sleep(5)
    raise last


async def begun(lab: Lab) -> None:
    """A drain has had ten seconds."""
    await lab.drain()
    await lab.world.sim.clock.sleep(SECONDS.total_seconds())


COMMANDS = (drain, evict, status, explain, bridge)


async def lease(lab: Lab, ahead: float, trouble: str = "") -> None:
    renewed = lab.world.sim.clock.now() + dt.timedelta(seconds=ahead)
    spec = {"holderIdentity": "m", "leaseDurationSeconds": 15, "renewTime": format_micro_time(renewed)}
    meta = {"name": LEASE, "namespace": "kube-system", "annotations": {TROUBLE: trouble} if trouble else {}}
    await lab.client.create(LEASES, {"metadata": meta, "spec": spec})


async def no_lease(lab: Lab) -> None:
    await lab.stop("manager")


async def expired_lease(lab: Lab) -> None:
    await lab.stop("manager")
    await lease(lab, -60)


async def silent_holder(lab: Lab) -> None:
    await lab.stop("manager")
    await lease(lab, 600)


async def manager_may_not_read(lab: Lab) -> None:
    await lab.stop("manager")
    await lease(lab, 600, "its roles lack the right to watch pods")


async def working(lab: Lab, refusal: Refusal | None = None) -> None:
    await lease(lab, 600)
    if refusal is not None:
        await lab.refuse(refusal)


async def webhook_refuses(lab: Lab) -> None:
    await working(lab, Refusal("webhook", "POST", EVICTIONREQUESTS))


async def webhook_away(lab: Lab) -> None:
    await working(lab, Refusal("away", "POST", EVICTIONREQUESTS))


async def manager_may_not_request(lab: Lab) -> None:
    await working(lab, Refusal("rights", "POST", EVICTIONREQUESTS))


async def manager_may_not_evict(lab: Lab) -> None:
    await working(lab, Refusal("rights", "POST", PODS, "eviction"))


async def maintenance_refused(lab: Lab) -> None:
    await working(lab, Refusal("webhook", "PATCH", NODEMAINTENANCES))


async def status_refused(lab: Lab) -> None:
    await working(lab, Refusal("webhook", "PATCH", NODEMAINTENANCES, "status"))


async def no_rights(lab: Lab) -> None:
    await working(lab)


Cause = Callable[[Lab], Awaitable[None]]
ABSENT = ("there is no Lease vacate-manager", EMBEDDED_REMEDY)
STOPPED = ("No manager works since", EMBEDDED_REMEDY)
SILENT = ("holds its Lease and has reported nothing on", "Look at the output of")
HELD_UP = ("is held up: its roles lack the right to watch pods", "Look at the output of")
DENIED = ('admission webhook "company.example.com" denied the request',)
ASK_OWNER = (*DENIED, "ask its owner to change it")
AWAY = ('failed calling webhook "requests.vacate.dev"', "kubectl -n vacate-system get pods -l")
RIGHTS = ("cannot create resource", "vacate install applies the roles of Vacate again")


def grants(role: str) -> tuple[str, ...]:
    return ('User "jane" cannot', f"--clusterrole={role} --user=jane")


TABLE: list[tuple[Cause, dict[Callable[..., Awaitable[None]], tuple[str, ...]]]] = [
    (no_lease, dict.fromkeys(COMMANDS, ABSENT)),
    (expired_lease, dict.fromkeys(COMMANDS, STOPPED)),
    (silent_holder, dict.fromkeys(COMMANDS, SILENT)),
    (manager_may_not_read, dict.fromkeys(COMMANDS, HELD_UP)),
    # The bridge is Vacate's webhook, with a link of its own: tests/webhook/test_evictions.py has its answers.
    (webhook_refuses, {drain: ASK_OWNER, evict: DENIED, status: ASK_OWNER, explain: ASK_OWNER}),
    (webhook_away, {**dict.fromkeys((drain, evict, status, explain), AWAY)}),
    (manager_may_not_request, {**dict.fromkeys((drain, status, explain), RIGHTS)}),
    (
        manager_may_not_evict,
        {**dict.fromkeys((drain, status, explain), RIGHTS), evict: (RIGHTS[0], "vacate explain p")},
    ),
    (maintenance_refused, {drain: DENIED}),
    (status_refused, {drain: DENIED}),
    (
        no_rights,
        {
            drain: grants(NODE_MAINTAINER),
            evict: grants("vacate-requester"),
            status: grants("vacate-viewer"),
            explain: grants("vacate-requester"),
            bridge: ('User "jane" cannot create resource "pods/eviction"',),
        },
    ),
]
CELLS = [
    pytest.param(cause, command, expected, id=f"{cause.__name__}-{command.__name__}")
    for cause, row in TABLE
    for command, expected in row.items()
]


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(("cause", "command", "expected"), CELLS)
def test_a_command_says_what_is_in_the_way_and_what_helps(
    cause: Cause,
    command: Callable[[Lab, Cluster], Awaitable[None]],
    expected: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = ""

    async def body(world: World) -> None:
        nonlocal shown
        lab = Lab(world)
        lab.refusals.links = (MANAGER, "user")
        await lab.pod("p", *([HOOK] if command is bridge else []))
        await cause(lab)
        client = world.client_of("user", JANE) if cause is no_rights else world.client_of("user")
        started = world.sim.clock.now()
        try:
            await command(lab, Cluster(client, "default", world.sim.clock))
        except VacateError as error:
            shown = str(with_remedy(error))
            if command is drain and isinstance(error, Forbidden):
                shown = str(with_role(error, NODE_MAINTAINER))
        assert world.sim.clock.now() - started < dt.timedelta(seconds=16)

    in_world(body, gates=parse_feature_gates(f"{BRIDGE_GATE}=true"))
    captured = capsys.readouterr()
    text = " ".join(f"{captured.out} {captured.err} {shown}".split())
    for part in expected:
        assert part in text, text


WRITES = [
    (EVICTION_REQUEST, Refusal("policy", "PATCH", EVICTIONREQUESTS, "status")),
    (EVACUATION, Refusal("policy", "PATCH", EVACUATIONS, "status")),
    (LIFECYCLE, Refusal("policy", "POST", LIFECYCLE_EVICTIONS)),
    (LIFECYCLE, Refusal("policy", "PATCH", LIFECYCLE_EVICTIONS, "status")),
]
REFUSED_WRITE = (
    "ValidatingAdmissionPolicy 'company' with binding 'company' denied request: not now",
    "kubectl get validatingadmissionpolicy company",
)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("begun", [False, True], ids=["at first", "in a turn"])
@pytest.mark.parametrize("command", [drain, evict, status, explain])
@pytest.mark.parametrize(
    ("dialect", "refusal"), WRITES, ids=lambda one: getattr(one, "name", getattr(one, "method", ""))
)
def test_a_command_says_that_a_request_cannot_be_written_until_it_can(
    dialect: Dialect,
    refusal: Refusal,
    command: Callable[[Lab, Cluster], Awaitable[None]],
    begun: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun = begun and refusal.method == "PATCH"

    async def body(world: World) -> None:
        lab = Lab(world)
        lab.dialect = dialect
        hook, following = lab.interceptor(f"first.{HOOK}"), lab.interceptor(HOOK)
        await lab.pod("p", following, hook)
        await working(lab)
        cluster = Cluster(world.client_of("user"), "default", world.sim.clock)
        if begun:
            name = dialect.participant("other.example.com")
            entropy = seeded_entropy(2)
            other = Requester(lab.client, name, clock=cluster.clock, entropy=entropy, dialect=dialect)
            await other.request("p", "default")
            first = await lab.turn(hook)
            await world.sim.clock.sleep(10)
        await lab.refuse(refusal)
        if begun:
            await lab.report(first, activeInterceptorCompleted=True)
        capsys.readouterr()
        await command(lab, cluster)
        captured = capsys.readouterr()
        text = " ".join(f"{captured.out} {captured.err}".split())
        for part in REFUSED_WRITE:
            assert part in text, text
        await lab.allow()
        await lab.turn(following if begun else hook)
        explanation, _ = await explain_pod(cluster, "p")
        assert HOOK in str(explanation.turns)
        assert "not now" not in str(explanation)

    in_world(body, gates=parse_feature_gates(f"{BRIDGE_GATE}=true,EvacuationAPI=true,LifecycleAPI=true"))
