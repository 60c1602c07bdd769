"""The whole of Vacate as pods: a real kubelet, real containers, real tokens and Services.

The tests share one installation and stand in the order of its life.
"""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from aiohttp import ClientSession, DummyCookieJar

from support.evictionrequests import request
from support.nodes.cluster import ACCOUNT, HOME, NodeCluster
from support.nodes.objects import asking, database
from support.waiting import LIMIT, until
from vacate.api.installednames import WEB_PORT
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.errors import VacateError

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]

_LOOK_INSIDE = """
import json, os, pathlib
def refused(path):
    try:
        pathlib.Path(path).write_text("x")
    except OSError as error:
        return error.strerror
token = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
print(json.dumps({
    "user": os.getuid(), "token": token.stat().st_size > 0, "kubeconfig": os.environ.get("KUBECONFIG"),
    "root": refused("/x"), "own": refused("/opt/vacate/x"), "pip": pathlib.Path("/etc/pip.conf").exists(),
}))
"""


def test_all_become_ready_under_restrictions(place: NodeCluster) -> None:
    pods = place.pods()
    components = sorted(pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in pods)
    assert components == ["certificates", "manager", "manager", "webhook", "webhook"]
    for pod in pods:
        (status,) = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
        output = place.system(f"exec {pod['metadata']['name']} -- python -c '{_LOOK_INSIDE}'").ok()
        assert json.loads(output) == {
            "user": 65532,
            "token": True,
            "root": "Read-only file system",
            "own": "Read-only file system",
            "kubeconfig": None,
            "pip": False,
        }


def test_a_pod_asks_and_another_leaves_in_order(place: NodeCluster) -> None:
    place.shop("create -f -", [database("db-0"), database("db-1")]).ok()
    place.ready("pod/db-0", "pod/db-1")
    with place.shop.start("logs --follow db-0") as following:
        assert following.stdout is not None
        first = following.stdout.readline()
        place.shop("create -f -", asking("asker", place.image, "db-0")).ok()
        place.shop.until(
            "get pod asker -o jsonpath={.status.phase}", lambda ran: ran.out == "Succeeded", 90.0
        )
        output = following.communicate(timeout=60)[0]
    assert [first.rstrip(), *output.splitlines()] == ["alive", "asked to end after its hook"]
    # A kubelet says that a pod has ended before it is gone; who asked may have seen either.
    assert place.shop("logs asker").lines()[-1] in ("pod/db-0 terminated", "pod/db-0 evicted")
    place.gone(place.shop, "pod db-0")
    # Beside what the interceptor prints, its program logs what it serves.
    printed = [line for line in place.shop("logs backup").lines() if line.startswith("db-0: ")]
    assert printed == [f"db-0: {part} of 4 parts are safe" for part in range(1, 5)]
    assert place.shop("get pods -o name -l app=db").lines() == ["pod/db-1"]


def test_the_leader_dies_in_the_middle(place: NodeCluster) -> None:
    place.shop("create -f -", [database("db-2")]).ok()
    place.ready("pod/db-2")
    before = place.leader()
    place.vacate("evict", "db-2", "--namespace", "shop").ok()
    place.shop.until("logs backup", lambda ran: "db-2: 1 of 4" in ran.out)
    name = next(pod["metadata"]["name"] for pod in place.pods() if pod["metadata"]["name"] in before)
    place.kill_container(name)

    place.gone(place.shop, "pod db-2")
    until(lambda: place.leader() not in ("", before))
    assert place.shop("logs backup").out.count("db-2: 4 of 4") == 1
    assert place.evictions("db-2") == [201]
    place.system.until(
        f"get pod {name} -o json",
        lambda ran: (
            (status := ran.json()["status"]["containerStatuses"][0])["restartCount"] == 1 and status["ready"]
        ),
        90.0,
    )


async def test_a_rollout_of_the_webhook_refuses_nobody(place: NodeCluster) -> None:
    pod = place.shop("get pod db-1 -o json").json()
    asked = request(pod)
    client = Client(HttpTransport(load_cluster([place.kubeconfig]), SystemClock()))
    before = {one["metadata"]["name"] for one in place.pods("app.kubernetes.io/component=webhook")}
    place.system("rollout restart deployment/vacate-webhook").ok()
    rolling = asyncio.create_task(
        asyncio.to_thread(
            place.system.until, "rollout status deployment/vacate-webhook --timeout=20s", seconds=120.0
        )
    )
    answered = 0
    try:
        while not rolling.done() or _leaving(place, before) or answered <= 20:
            await client.create(EVICTIONREQUESTS, asked, "shop", dry_run=True)
            answered += 1
    except VacateError as error:
        pytest.fail(f"refused after {answered}: {error}")
    finally:
        await rolling
        await client.aclose()
    assert before.isdisjoint(one["metadata"]["name"] for one in place.pods())


def _leaving(place: NodeCluster, names: set[str]) -> bool:
    return any(one["metadata"]["name"] in names for one in place.pods())


def test_a_budget_is_kept_until_another_is_ready(place: NodeCluster) -> None:
    place.vacate("evict", "db-1", "--namespace", "shop").ok()
    until(lambda: 429 in place.evictions("db-1"))
    assert place.shop("get pods -o name -l app=db").lines() == ["pod/db-1"]
    place.shop("create -f -", database("db-3")).ok()
    place.gone(place.shop, "pod db-1")
    assert (place.evictions("db-1")[-1], place.evictions("db-1").count(201)) == (201, 1)


async def test_the_pages_show_and_do_what_the_token_of_their_user_may(place: NodeCluster) -> None:
    """Through a port-forward, as people reach the pod: with and without tokens that may do it."""
    place.vacate("install", "--image", place.image, "--web", "--wait", "3m").ok()
    (pod,) = place.pods("app.kubernetes.io/component=web")
    (status,) = pod["status"]["containerStatuses"]
    assert (status["ready"], status["restartCount"]) == (True, 0)
    look = f"exec {pod['metadata']['name']} -- python -c '{_LIST_ACCOUNT}'"
    assert place.system(look).ok().split() == ["ca.crt"], "it has no token of its own"
    tokens = _users(place)
    place.shop("create -f -", [database("db-5")]).ok()
    place.ready("pod/db-5", "pod/db-3")
    with place.system.start(f"port-forward pod/{pod['metadata']['name']} :{WEB_PORT}") as forward:
        assert forward.stdout is not None
        base = f"http://127.0.0.1:{forward.stdout.readline().split(':')[1].split()[0]}"
        try:
            async with ClientSession(base, cookie_jar=DummyCookieJar()) as browser:
                await _look(browser, tokens)
                await _evict(browser, base, tokens)
                place.gone(place.shop, "pod db-5")
                # Its request is collected with it.
                await _shown(
                    browser,
                    {"Authorization": f"Bearer {tokens['mover']}"},
                    "There is nothing here",
                    _POD,
                    404,
                )
                place.system.within("default")("delete serviceaccount looker").ok()  # and with it the token
                gone = {"Authorization": f"Bearer {tokens['looker']}"}
                await _shown(browser, gone, "You are not signed in", status=401)
        finally:
            forward.terminate()
    assert place.shop("logs backup").out.count("db-5: 4 of 4") == 1
    calls = list(place.calls())
    made = {(call.user, call.code) for call in calls if (call.verb, call.resource) == _CREATED}
    assert (f"{ACCOUNT}:default:mover", 201) in made, "in the name of the user"
    assert f"{ACCOUNT}:{HOME}:vacate-web" not in {call.user for call in calls}, (
        "the pod asks nothing as itself"
    )


_LIST_ACCOUNT = """
import os
found = os.listdir("/var/run/secrets/kubernetes.io/serviceaccount")
print(*(one for one in found if not one.startswith("..")))
"""
_CREATED = ("create", "evictionrequests")
_ACTION, _POD = "/act/evict?namespace=shop&pod=db-5", "/pods/shop/db-5"


def _users(place: NodeCluster) -> dict[str, str]:
    """The token of one who may look, of one who may also evict in the shop, and of one who may do nothing."""
    users = place.system.within("default")
    tokens = {}
    for name in ("looker", "mover", "stranger"):
        users(f"create serviceaccount {name}").ok()
        tokens[name] = users(f"create token {name}").ok().strip()
    for name in ("looker", "mover"):
        give = f"--clusterrole=view --serviceaccount=default:{name}"  # which vacate-viewer is part of
        users(f"create clusterrolebinding {name} {give}").ok()
    mover = "--serviceaccount=default:mover"
    place.shop(f"create rolebinding mover-asks --clusterrole=vacate-requester {mover}").ok()
    place.shop(f"create rolebinding mover-deletes --role=delete-pods {mover}").ok()
    return tokens


async def _shown(
    browser: ClientSession, headers: dict[str, str], wanted: str, path: str = "/drains", status: int = 200
) -> str:
    """It comes to that: the cluster is read first, and a token is looked at every ten seconds."""
    text, found = "", 0
    try:
        async with asyncio.timeout(LIMIT):
            while found != status or wanted not in text:
                async with browser.get(path, headers=headers) as answer:
                    text, found = await answer.text(), answer.status
    except TimeoutError:
        raise AssertionError(f"{path} did not say {wanted!r}, but, with {found}: {text}") from None
    return text


async def _look(browser: ClientSession, tokens: dict[str, str]) -> None:
    """Each by the header that a proxy sends."""
    own = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    await _shown(browser, {}, "Sign in to Vacate", status=401)
    await _shown(browser, {"Authorization": "Bearer not-a-token"}, "You are not signed in", status=401)
    await _shown(browser, own["looker"], "Nothing is stuck")
    await _shown(browser, own["looker"], f"You are {ACCOUNT}:default:looker.")
    await _shown(browser, own["looker"], "No eviction of pod db-5 is requested", _POD)
    await _shown(browser, own["stranger"], "What happens here is hidden from you")
    for name in ("looker", "stranger"):
        assert "You may not create evictionrequests in namespace shop" in await _shown(
            browser, own[name], "Evict db-5", _ACTION
        )


async def _evict(browser: ClientSession, base: str, tokens: dict[str, str]) -> None:
    """Signed in by the form, as a person does: nobody else can send what that person was shown."""
    sent = {"token": tokens["mover"], "after": _ACTION}
    own = {"Origin": base}
    async with browser.post("/sign-in", data=sent, headers=own, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, _ACTION)
        cookie = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
    shown = await _shown(browser, cookie, 'class="confirm"', _ACTION)
    fields = shown.partition('class="confirm"')[2].partition("</form>")[0]
    form = dict(re.findall(r'name="([^"]*)" value="([^"]*)"', fields))
    others: list[tuple[dict[str, str], int]] = [
        (own, 401),
        (own | {"Authorization": f"Bearer {tokens['looker']}"}, 403),
        (cookie | {"Origin": "http://attacker.example"}, 403),
    ]
    for headers, status in [*others, (own | cookie, 200), (own | cookie, 403)]:
        async with browser.post("/act/evict", data=form, headers=headers) as answer:
            assert answer.status == status, await answer.text()
            assert status != 200 or "Done" in await answer.text()


def test_all_that_was_asked_was_allowed(place: NodeCluster) -> None:
    own = (f"{ACCOUNT}:{HOME}:", f"{ACCOUNT}:shop:")
    asked = [call for call in place.calls() if call.user.startswith(own)]
    assert {call.user.removeprefix(f"{ACCOUNT}:") for call in asked} >= {
        f"{HOME}:vacate-manager",
        f"{HOME}:vacate-webhook",
        "shop:backup",
        "shop:operator",
    }
    # Whose rights are those of one namespace may not read the manager's Lease, and commands do without it.
    denied = [call for call in asked if call.forbidden]
    assert {(call.user.split(":")[-2], call.verb, call.resource) for call in denied} <= {
        ("shop", "list", "leases")
    }


def test_no_log_has_a_traceback(place: NodeCluster) -> None:
    for kubectl in (place.system, place.shop):
        for pod in kubectl("get pods -o name").out.split():
            log = kubectl(f"logs {pod}").ok() + kubectl(f"logs --previous {pod}").out
            assert "Traceback" not in log, log


def test_uninstalling_leaves_nothing(place: NodeCluster) -> None:
    place.vacate("uninstall", "--crds").ok()
    place.gone(place.system, f"namespace {HOME}")
    kinds = (
        "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,"
        "validatingadmissionpolicies,validatingadmissionpolicybindings,customresourcedefinitions"
    )
    left = place.system(f"get {kinds} -o name").lines()
    assert [one for one in left if "vacate" in one or "evictionrequest" in one] == []
    place.shop("create -f -", database("db-4")).ok()
    place.ready("pod/db-4")
