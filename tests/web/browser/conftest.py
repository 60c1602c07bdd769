"""A real browser. It exists only where `make test-web` has obtained it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hack.weblab.session import BROWSER, LAB

from support.webscene import Scene, broken_cluster, new_context, scene

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PICTURES = "VACATE_WEB_PICTURES"

if not os.environ.get(LAB):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    root = Path(os.environ[LAB]) / "root"
    libraries = [*root.glob("usr/lib/*-linux-gnu"), *root.glob("usr/lib/*-linux-gnu/pulseaudio")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries)), "TZ": "Europe/Berlin"}
    with sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=str(root / BROWSER), args=["--no-sandbox"], env=environment
        )
        yield found
        found.close()


@pytest.fixture(scope="session")
def pictures() -> Path:
    """The folder of the screenshots."""
    folder = Path(os.environ.get(PICTURES) or tempfile.mkdtemp(prefix="vacate-web-"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    return (Path(os.environ[LAB]) / "python/axe_playwright_python/axe.min.js").read_text()


@pytest.fixture(scope="module")
def broken() -> Iterator[Scene]:
    """A cluster with a drain that is stuck."""
    with scene() as one:
        one.run(broken_cluster(one))
        yield one


@pytest.fixture
def entered(browser: Browser, broken: Scene) -> Iterator[BrowserContext]:
    """A browser that was let in."""
    context = new_context(browser, base_url=f"http://127.0.0.1:{broken.port}")
    context.add_cookies([broken_cookie(broken)])
    yield context
    context.close()


def broken_cookie(one: Scene) -> dict[str, str]:
    """What the token becomes: it is used up by one browser, and tests have many."""
    gate = one.visitors.gate
    return {"name": gate.cookie_name, "value": gate.session, "url": f"http://127.0.0.1:{one.port}"}
