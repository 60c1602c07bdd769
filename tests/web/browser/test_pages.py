"""Every page in a real browser, narrow and wide, light and dark: without barriers, and a picture of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.webscene import HOSTILE, Scene, busy_cluster, new_context, scene, take, violations
from vacate.api.kinds import NODEMAINTENANCES, NODES
from vacate.testing.builders import node as build_node

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.web

PAGES = {
    "drains": "/drains",
    "drain": "/drains/kernel-6-12",
    "blockers": "/blockers",
    "nodes": "/nodes",
    "node": "/nodes/worker-41",
    "node-stuck": "/nodes/worker-39",
    "requests": "/requests",
    "pod-stuck": "/pods/payments/ledger-2",
    "pod-intercepted": "/pods/media/catalog-db-0",
    "pod": "/pods/search/web-1",
    "interceptors": "/interceptors",
    "fencing": "/fencing",
    "plan": "/plan",
    "health": "/health",
}
LISTS = ("drains", "blockers", "nodes", "requests", "interceptors", "fencing", "plan", "health")
BUSY = {**{name: PAGES[name] for name in LISTS}, "drain": PAGES["drain"], "node": PAGES["node"],
        "pod": "/pods/media/thumbs-0"}  # fmt: skip
EMPTY = {name: PAGES[name] for name in LISTS}


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_barriers(name: str, entered: BrowserContext, axe: str, pictures: Path) -> None:
    page = entered.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(PAGES[name])
    found = take(page, pictures, f"broken-{name}")
    _unfold(page)
    found += take(page, None, name, axe)
    assert not found, "\n".join(found)
    assert not troubles, troubles


def test_where_one_is_can_be_seen_on_a_narrow_screen(entered: BrowserContext) -> None:
    page = entered.new_page()
    page.set_viewport_size({"width": 360, "height": 780})
    for path in ("/drains", "/interceptors", "/health"):
        page.goto(path)
        here = page.locator(".nav [aria-current]")
        here.wait_for()
        beyond = (
            "one => one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0"
        )
        assert not here.evaluate(beyond), path


def test_a_busy_cluster_says_when_it_is_done(browser: Browser, axe: str, pictures: Path) -> None:
    with scene() as busy:
        busy.run(busy_cluster(busy))
        page = _within(browser, busy)
        headline = page.get_by_role("heading", level=1)
        headline.filter(has_text="is draining, and nothing is stuck").wait_for()
        found = []
        for name, path in BUSY.items():
            page.goto(f"http://127.0.0.1:{busy.port}{path}")
            found += take(page, pictures, f"busy-{name}")
            found += violations(page, axe)
        page.context.close()
    assert not found, "\n".join(found)


def test_an_empty_cluster_says_that_it_is_good_and_what_to_do_next(
    browser: Browser, axe: str, pictures: Path
) -> None:
    with scene() as empty:
        page = _within(browser, empty)
        assert page.locator("code").count() >= 1, "the next command"
        found = []
        for name, path in EMPTY.items():
            page.goto(f"http://127.0.0.1:{empty.port}{path}")
            assert page.locator("h1").count() == 1
            found += take(page, pictures, f"empty-{name}")
            found += violations(page, axe)
        page.context.close()
    assert not found, "\n".join(found)


def _within(browser: Browser, one: Scene) -> Page:
    page: Page = new_context(browser).new_page()
    page.goto(one.address)
    return page


def test_what_is_refused_has_no_barriers(entered: BrowserContext, axe: str, pictures: Path) -> None:
    """The commands of this program find no cluster, so that every dry run is refused."""
    page = entered.new_page()
    page.goto("/act/drain?node=worker-41")
    page.get_by_role("heading", level=1).filter(has_text="Not possible: Drain worker-41").wait_for()
    assert page.locator("form.confirm").count() == 0
    found = take(page, pictures, "refused", axe)
    assert not found, "\n".join(found)


def test_the_way_back_leads_to_where_one_was(entered: BrowserContext, broken: Scene) -> None:
    """To the filter and the folds, and what was kept by the browser is live again."""
    page = entered.new_page()
    page.goto("/requests")
    page.get_by_role("searchbox").fill("ledger")
    page.get_by_role("searchbox").press("Enter")
    page.wait_for_url("**/requests?q=ledger")
    page.get_by_role("link", name="payments/ledger-2").click()
    page.get_by_role("heading", level=1).filter(has_text="ledger-2").wait_for()
    page.go_back()
    page.wait_for_url("**/requests?q=ledger")
    assert page.get_by_role("searchbox").input_value() == "ledger"
    page.go_forward()
    page.get_by_role("heading", level=1).filter(has_text="ledger-2").wait_for()
    page.goto("/drains")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    spec = {"nodes": ["worker-44"], "reason": "Seen after the way back"}
    made = {"apiVersion": "vacate.dev/v1alpha1", "kind": "NodeMaintenance", "metadata": {"name": "later"}}
    broken.run(broken.admin.create(NODEMAINTENANCES, {**made, "spec": spec}))
    try:
        page.get_by_text("Seen after the way back").first.wait_for()
    finally:
        broken.run(broken.admin.delete(NODEMAINTENANCES, "later"))


def test_without_scripts_pages_are_whole_and_load_again_by_themselves(browser: Browser) -> None:
    with scene() as one:
        context = new_context(browser, java_script_enabled=False)
        page = context.new_page()
        page.goto(one.address)
        assert page.locator("h1").inner_text()
        page.get_by_role("link", name="Nodes").click()
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-1"}}
        one.run(one.admin.create(NODES, node))
        page.get_by_role("link", name="worker-1").wait_for()  # without a click
        page.get_by_role("searchbox").fill("other")
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="worker-1").wait_for(state="detached")
        page.goto(f"http://127.0.0.1:{one.port}/act/drain?node=worker-1")
        assert page.locator("h1").inner_text()
        assert page.locator("noscript").count() == 0, "to load it again would run its command again"
        context.close()


def test_texts_of_others_are_shown_and_do_nothing(entered: BrowserContext, broken: Scene) -> None:
    """A reason, an interceptor's message and a blocker's that are markup."""
    page = entered.new_page()
    for path in ("/drains", "/pods/media/catalog-db-0", "/blockers"):
        page.goto(path)
        _unfold(page)
        assert HOSTILE in page.inner_text("body").replace("\n", " "), path
        assert "owned" not in page.title()
        assert page.locator("main img, main script").count() == 0
    refused = page.evaluate(
        "(() => { try { document.body.innerHTML = '<b>'; return false } catch { return true } })()"
    )
    assert refused, "the policy forbids pages to make markup of text"


def test_rows_stay_under_the_pointer_and_are_sorted_when_it_has_left(browser: Browser) -> None:
    with scene() as one:
        for name in ("b", "c"):
            one.run(one.admin.create(NODES, build_node(name)))
        page = _within(browser, one)
        page.goto(f"http://127.0.0.1:{one.port}/nodes")
        rows = page.locator("tbody tr")
        rows.nth(1).hover()
        one.run(one.admin.create(NODES, build_node("a")))
        rows.nth(2).filter(has=page.get_by_role("link", name="a", exact=True)).wait_for()
        page.mouse.move(0, 0)
        rows.nth(0).filter(has=page.get_by_role("link", name="a", exact=True)).wait_for()
        assert [one.split()[0] for one in rows.all_inner_texts()] == ["a", "b", "c"]
        page.context.close()


def test_all_of_it_can_be_reached_by_the_keyboard(entered: BrowserContext) -> None:
    page = entered.new_page()
    page.goto("/drains")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to content"
    page.keyboard.press("Enter")
    reached: list[str] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.locator(":focus")
        if not found.count():
            break
        outline = found.evaluate("one => getComputedStyle(one).outlineStyle")
        assert outline != "none", f"the focus is not seen on {found.inner_text()!r}"
        reached.append(f"{found.evaluate('one => one.localName')} {found.inner_text().strip()[:40]}")
    assert any(one.startswith("button Copy") for one in reached), reached
    folds = [one for one in reached if one.startswith("summary")]
    assert folds, reached
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.evaluate("one => one.open")


def test_a_command_is_copied_whole(entered: BrowserContext) -> None:
    entered.grant_permissions(["clipboard-read", "clipboard-write"])
    page = entered.new_page()
    page.goto("/drains")
    command = page.locator(".cmd").first
    command.get_by_role("button").click()
    command.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == """kubectl patch pdb ledger -n payments --type merge -p '{"spec":{"minAvailable":2}}'"""
