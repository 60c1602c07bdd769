"""Writes of a dry run: the server checks them and keeps nothing."""

from __future__ import annotations

import pytest

from support.embedded import ADMIN, embedded
from vacate.api.kinds import CONFIGMAPS, NAMESPACES, NODEMAINTENANCES, SELFSUBJECTREVIEWS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.client.client import Client
from vacate.client.dryrun import DryRunTransport
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import Conflict, Invalid, NotFound

pytestmark = pytest.mark.unit

DRAIN: Obj = {"metadata": {"name": "kernel"}, "spec": {"nodes": ["node-1"]}}
GIVEN = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}}


async def test_no_write_of_a_dry_run_is_kept() -> None:
    async with embedded() as running:
        real = Client(InProcessTransport(running.server, ADMIN))
        dry = Client(DryRunTransport(InProcessTransport(running.server, ADMIN)))
        await real.create(
            NAMESPACES, {"metadata": {"name": "default"}, "apiVersion": "v1", "kind": "Namespace"}
        )
        kept = await real.create(CONFIGMAPS, {**GIVEN, "data": {"a": "1"}}, "default")
        other = {**GIVEN, "metadata": {"name": "c"}}
        assert (await dry.create(CONFIGMAPS, other, "default"))["metadata"]["name"] == "c"
        changed = await dry.patch(CONFIGMAPS, "b", {"data": {"a": "2"}}, "default")
        assert changed["data"] == {"a": "2"}
        await dry.update(CONFIGMAPS, {**kept, "data": {"a": "3"}})
        await dry.delete(CONFIGMAPS, "b", "default")
        await dry.delete(CONFIGMAPS, "b", "default", DeleteOptions(uid=kept["metadata"]["uid"]))
        await dry.delete_collection(CONFIGMAPS, "default")
        assert await real.get(CONFIGMAPS, "b", "default") == kept
        with pytest.raises(NotFound):
            await real.get(CONFIGMAPS, "c", "default")


async def test_what_would_be_refused_is_refused() -> None:
    async with embedded() as running:
        real = Client(InProcessTransport(running.server, ADMIN))
        dry = Client(DryRunTransport(InProcessTransport(running.server, ADMIN)))
        await real.create(
            NODEMAINTENANCES,
            {**DRAIN, "apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind},
        )
        with pytest.raises(NotFound):
            await dry.delete(NODEMAINTENANCES, "other")
        with pytest.raises(Conflict):
            await dry.delete(NODEMAINTENANCES, "kernel", options=DeleteOptions(uid="other"))
        with pytest.raises(Invalid):
            await dry.patch(NODEMAINTENANCES, "kernel", {"spec": {"maxNodes": -1}})


async def test_questions_are_answered() -> None:
    async with embedded() as running:
        dry = Client(DryRunTransport(InProcessTransport(running.server, ADMIN)))
        assert (await dry.create(SELFSUBJECTREVIEWS, {}))["status"]["userInfo"]["username"] == ADMIN.name
