"""A way to an API server that can be cut: a TCP proxy in a thread of its own, beside processes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from support.hostile.http_proxy import Proxy


class CuttableProxy:
    """Passes on until it is cut: then nothing gets through, and neither side learns of it."""

    def __init__(self, proxy: Proxy, loop: asyncio.AbstractEventLoop) -> None:
        self._proxy = proxy
        self._loop = loop

    @property
    def port(self) -> int:
        return self._proxy.port

    def cut(self) -> None:
        def work() -> None:
            self._proxy.mute = True
            self._proxy.fall_silent()

        self._call(work)

    def heal(self) -> None:
        def work() -> None:
            self._proxy.mute = False
            self._proxy.reset()

        self._call(work)

    def _call(self, work: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            work()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(60)


@contextlib.contextmanager
def cuttable(kubeconfig: Path, changed: Path) -> Iterator[CuttableProxy]:
    """A proxy to the server of a kubeconfig, and a copy of that kubeconfig which goes through it."""
    content = yaml.safe_load(kubeconfig.read_text())
    cluster = content["clusters"][0]["cluster"]
    address = urlsplit(cluster["server"])
    assert address.port is not None
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    proxy = Proxy(address.port)
    try:
        asyncio.run_coroutine_threadsafe(proxy.start(), loop).result(30)
        cluster["server"] = f"{address.scheme}://{address.hostname}:{proxy.port}"
        changed.write_text(yaml.safe_dump(content))
        yield CuttableProxy(proxy, loop)
        asyncio.run_coroutine_threadsafe(proxy.stop(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
