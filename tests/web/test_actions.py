"""What can be done on the pages: commands, shown before they are run, and from our own form only."""

from __future__ import annotations

import asyncio
import html
import re
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from support.https import Https
from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES
from vacate.api.objects import Obj
from vacate.cli.web.command import open_page
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.errors import ConfigError
from vacate.sdk.connection import connected, find_cluster
from vacate.testing import pod, running_cluster
from vacate.web.actions import ACTIONS, CANCEL, DRAIN, EVICT

CLOCK = SystemClock()
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
USER = "system:serviceaccount:default:ops"


@pytest.mark.unit
@pytest.mark.parametrize("name", ["", "--force", "a b", "a;b", "../x", "A", "x" * 300, "<b>"])
def test_only_names_become_words_of_a_command(name: str) -> None:
    with pytest.raises(ConfigError, match="is not a name"):
        DRAIN.command({"node": name})


@pytest.mark.unit
def test_options_are_those_of_the_form() -> None:
    assert DRAIN.command({"node": "a"}) == ["drain", "node/a", "--detach", "--ignore-daemonsets"]
    chosen = {"node": "a", "asked": "1", "--force": "on", "--yes": "on", "reason": " two\nlines --force "}
    made = DRAIN.command(chosen, dry_run=True)
    assert made == ["drain", "node/a", "--detach", "--force", "--reason=two lines --force", "--dry-run"]


@pytest.mark.unit
def test_every_action_leads_back_to_a_page() -> None:
    names = {"node": "a", "drain": "b", "namespace": "c", "pod": "d"}
    assert all(one.page(names).startswith("/") for one in ACTIONS.values())
    assert EVICT.address(namespace="c", pod="d") == "/act/evict?namespace=c&pod=d"
    assert CANCEL.command(names) == ["cancel", "pod/d", "--namespace=c"]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("wanted", "display", "opens"), [(True, ":0", True), (True, "", False), (False, ":0", False)]
)
async def test_the_page_is_opened_in_a_browser_that_has_a_window(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, display: str, opens: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    await open_page("http://127.0.0.1:7411/?token=t", wanted=wanted)
    assert opened == (["http://127.0.0.1:7411/?token=t"] if opens else [])


@asynccontextmanager
async def program(kubeconfig: Path, *options: str) -> AsyncIterator[tuple[ClientSession, str]]:
    """`vacate web` as people start it, and a browser that it has let in, or to sign in with."""
    words = ("web", "--no-browser", "--port", "0", "--kubeconfig", str(kubeconfig), *options)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacate", *words, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().split()[1]
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
            assert (await browser.get(address)).status == (401 if "--sign-in" in options else 200)
            yield browser, address.partition("/?")[0].rstrip("/")
        process.terminate()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def fields(page: str) -> dict[str, str]:
    """What the form that does it sends."""
    form = page.partition('method="post"')[2]
    found = re.findall(r'type="hidden" name="([^"]*)" value(?:="([^"]*)")?', form)
    return {name: html.unescape(value) for name, value in found}


async def drains(client: Client) -> list[Obj]:
    return list((await client.list(NODEMAINTENANCES)).items)


@pytest.mark.thorough
@pytest.mark.process
def test_a_drain_is_shown_first_then_made_and_cancelled(tmp_path: Path) -> None:
    async def walk(kubeconfig: Path) -> None:
        async with (
            connected(find_cluster(str(kubeconfig))) as client,
            program(kubeconfig) as (browser, base),
        ):
            shown = await (await browser.get(f"{base}/act/drain?node=node-1")).text()
            assert "node/node-1 would be cordoned and drained (dry run)" in shown
            assert not await drains(client)
            form = fields(shown)
            own = {"Origin": base}
            for wrong in ({**form, "token": "x"}, {key: form[key] for key in form if key != "token"}):
                assert (await browser.post(f"{base}/act/drain", data=wrong, headers=own)).status == 403
            away = {"Origin": "http://attacker.example"}
            assert (await browser.post(f"{base}/act/drain", data=form, headers=away)).status == 403
            assert not await drains(client)
            done = await (await browser.post(f"{base}/act/drain", data=form, headers=own)).text()
            assert "Done: Drain node-1" in done
            (made,) = await drains(client)
            assert made["spec"]["nodes"] == ["node-1"]
            name = made["metadata"]["name"]
            asked = fields(await (await browser.get(f"{base}/act/cancel-drain?drain={name}")).text())
            done = await (await browser.post(f"{base}/act/cancel-drain", data=asked, headers=own)).text()
            assert f"nodemaintenance/{name} is cancelled" in done
            while await drains(client):
                await CLOCK.sleep(0.05)

    with running_cluster(tmp_path / "cluster") as cluster:
        asyncio.run(walk(cluster.kubeconfig))


@pytest.mark.thorough
@pytest.mark.process
def test_what_a_user_does_is_recorded_under_their_name_and_not_the_programs(tmp_path: Path) -> None:
    """The program has the kubeconfig of an administrator; the command gets the token of who signed in."""

    async def walk(kubeconfig: Path, token: str) -> None:
        async with program(kubeconfig, "--sign-in", "--metrics-port", "0") as (browser, base):
            own, form = {"Origin": base}, {"token": token, "after": "/drains"}
            entered = await browser.post(f"{base}/sign-in", data=form, headers=own)
            assert f"You are {USER}." in await entered.text()
            path = f"{base}/act/evict?namespace=default&pod=held"
            while 'method="post"' not in (shown := await (await browser.get(path)).text()):
                await CLOCK.sleep(0.1)  # until the cache of this user knows the pod
            done = await browser.post(f"{base}/act/evict", data=fields(shown), headers=own)
            assert "Done: Evict held" in await done.text()
        async with connected(find_cluster(str(kubeconfig))) as client:
            (request,) = (await client.list(EVICTIONREQUESTS, "default")).items
        (requester,) = request["spec"]["requesters"]
        assert requester["name"] == "system-serviceaccount-default-ops.cli.vacate.dev"

    with running_cluster(tmp_path / "cluster") as cluster:
        admin = Https.from_kubeconfig(cluster.kubeconfig)
        admin.create(ACCOUNTS, {"metadata": {"name": "ops"}})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subject = {"kind": "ServiceAccount", "name": "ops", "namespace": "default"}
        bound = {"metadata": {"name": "ops"}, "roleRef": role, "subjects": [subject]}
        admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bound)
        admin.create("/api/v1/namespaces/default/pods", pod("held", interceptors=["backup.example.com"]))
        token = admin.create(f"{ACCOUNTS}/ops/token", {"spec": {}})["status"]["token"]
        asyncio.run(walk(cluster.kubeconfig, token))
