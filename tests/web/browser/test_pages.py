"""Every page in a real browser, narrow and wide, light and dark: without barriers, and a picture of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.webscene import HOSTILE, Scene, busy_cluster, new_context, scene, violations

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
WIDTHS = {360: 780, 1280: 800, 1920: 1080}
THEMES = ("light", "dark")


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_barriers(name: str, entered: BrowserContext, axe: str, pictures: Path) -> None:
    page = entered.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(PAGES[name])
    found = []
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.screenshot(path=pictures / f"{name}-{width}-{theme}.png", full_page=True)
    _unfold(page)
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            found.append(f"{width} px: has to be scrolled sideways by {wide} px")
        found += [f"{width} px, dark: {one}" for one in violations(page, axe)]
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        found += [f"{width} px, light: {one}" for one in violations(page, axe, "color-contrast")]
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
        context = new_context(browser)
        page = context.new_page()
        page.goto(busy.address)
        headline = page.get_by_role("heading", level=1)
        headline.filter(has_text="is draining, and nothing is stuck").wait_for()
        for name, path in (("drains", "/drains"), ("node", "/nodes/worker-41"), ("requests", "/requests")):
            page.goto(f"http://127.0.0.1:{busy.port}{path}")
            for width, height in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": height})
                for theme in THEMES:
                    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                    page.screenshot(path=pictures / f"busy-{name}-{width}-{theme}.png", full_page=True)
            assert not violations(page, axe)
        context.close()


def test_an_empty_cluster_says_that_it_is_good_and_what_to_do_next(
    browser: Browser, axe: str, pictures: Path
) -> None:
    with scene() as empty:
        context = new_context(browser)
        page = context.new_page()
        page.goto(empty.address)
        assert page.locator("h1").count() == 1
        assert page.locator("code").count() >= 1, "the next command"
        for width, height in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=pictures / f"empty-{width}-light.png", full_page=True)
            assert not violations(page, axe)
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
