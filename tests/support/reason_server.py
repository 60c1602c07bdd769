"""Vacate as the wrapper of a hook sees it: an HTTPS service for reasons, and the files of a pod."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vacate.httpserver.certificate import ServedCertificate
from vacate.httpserver.listener import Handle, HttpListener
from vacate.pki.issue import new_authority, new_server

HOST = "vacate-webhook.vacate-system.svc"


@asynccontextmanager
async def reason_server(
    handle: Handle, folder: Path, *, hosts: tuple[str, ...] = (HOST,)
) -> AsyncIterator[None]:
    """Serve, and let the files in the folder lead there."""
    now = dt.datetime.now(dt.UTC)
    authority = new_authority("test", now)
    leaf = new_server(authority, "vacate", hosts, now)
    served = ServedCertificate()
    served.use(leaf.certificate_pem, leaf.key_pem)
    listener = HttpListener(handle, served.context)
    await listener.start("127.0.0.1", 0)
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    (folder / "service").write_text(f"https://{HOST}:{listener.port}/reason 127.0.0.1")
    (folder / "token").write_text("a.b.c")
    try:
        yield
    finally:
        await listener.stop()
