"""What can be done on the pages: commands, shown before they are run, and from our own form only."""

from __future__ import annotations

import asyncio
import html
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.errors import ConfigError
from vacate.sdk.connection import connected, find_cluster
from vacate.testing import running_cluster
from vacate.web.actions import ACTIONS, CANCEL, DRAIN, EVICT

CLOCK = SystemClock()


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


@asynccontextmanager
async def program(kubeconfig: Path) -> AsyncIterator[tuple[ClientSession, str]]:
    """`vacate web` as people start it, and a browser that it has let in."""
    words = ("web", "--no-browser", "--port", "0", "--kubeconfig", str(kubeconfig))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacate", *words, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().split()[1]
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
            assert (await browser.get(address)).status == 200
            yield browser, address.partition("/?")[0]
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
