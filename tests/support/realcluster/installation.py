"""Vacate installed into a real API server and taken out of it again, by the very objects of the commands."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.arms.arm import Obj
from support.arms.kube import KUBECONFIG, KubeArm
from vacate.api.kinds import NAMESPACES
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.install import Settings
from vacate.install.apply.installer import Installer, InstallOptions
from vacate.install.apply.inventory import Inventory
from vacate.install.apply.requests import existing
from vacate.install.apply.uninstaller import Uninstaller
from vacate.install.objectkinds import kind_of, path_of


class Installation:
    """A cluster, a namespace for Vacate in it, and the lines that the commands printed."""

    def __init__(self, client: Client, arm: KubeArm, namespace: str) -> None:
        self.client, self.arm, self.lines = client, arm, list[str]()
        # Nobody runs pods or webhooks here: requests must not wait for them.
        self.settings = Settings(namespace=namespace, webhook_url="https://127.0.0.1:1")

    def changed(self, **changes: Any) -> Settings:
        """The settings with some changes."""
        return replace(self.settings, **changes)

    def installer(self, options: InstallOptions | None = None) -> Installer:
        """One that reports what it does to `lines`."""
        self.lines.clear()
        return Installer(self.client, SystemClock(), system_entropy(), self.lines.append, options)

    async def install(
        self, settings: Settings | None = None, options: InstallOptions | None = None
    ) -> list[str]:
        await self.installer(options).install(settings or self.settings)
        return list(self.lines)

    async def apply(self, some: Sequence[Obj]) -> list[str]:
        """Only these, without any of the rest."""
        await self.installer().apply(some)
        return list(self.lines)

    async def uninstall(self, *, definitions: bool) -> list[str]:
        self.lines.clear()
        remover = Uninstaller(self.client, SystemClock(), system_entropy(), self.lines.append)
        await remover.uninstall(self.settings.namespace, definitions=definitions)
        return list(self.lines)

    async def there(self, found: Sequence[Obj]) -> list[str]:
        kept = [obj for obj in found if await existing(self.client, obj) is not None]
        # Without its controller a namespace stays for ever terminating.
        return [path_of(obj) for obj in kept if kind_of(obj) != NAMESPACES]

    async def noted(self) -> list[str]:
        return await Inventory(self.client, self.settings.namespace).lines()


@contextlib.asynccontextmanager
async def installing(kubeconfig: Path | None = None) -> AsyncIterator[Installation]:
    """A place whose installation is gone at the end of the block."""
    path = kubeconfig or Path(os.environ[KUBECONFIG])
    client = Client(HttpTransport(load_cluster([path]), SystemClock()), user_agent="test")
    arm = KubeArm(path)
    here = Installation(client, arm, f"vacate-{system_entropy().uid()[:8]}")
    try:
        yield here
    finally:
        with contextlib.suppress(ConfigError):
            await here.uninstall(definitions=True)
        await client.aclose()
        await arm.aclose()
