"""The configuration with which the kubelet of this node runs, from the kubelet itself."""

from __future__ import annotations

import asyncio

import orjson

from vacate.client.client import Client
from vacate.errors import ConfigError, Forbidden, TransportError, Unauthorized, VacateError
from vacate.nodeagent.shutdown.config import API_VERSION, FIELDS, KIND, ShutdownConfig, read_config
from vacate.nodeagent.shutdown.protocol import ShutdownRefused
from vacate.wire.message import Request

READ_SECONDS = 5.0


async def read_kubelet(client: Client) -> ShutdownConfig:
    """What its /configz says about shutdown; ShutdownRefused where that cannot be known."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            document = orjson.loads(await client.send(Request("GET", "/configz")))
        found = document["kubeletconfig"]
        # A kubelet of a later version may have more fields, whatever their names.
        ours = {name: found[name] for name in (*FIELDS, "featureGates") if name in found}
        return read_config({**ours, "kind": KIND, "apiVersion": API_VERSION}, source="the kubelet's configz")
    except TimeoutError:
        why = f"no answer within {READ_SECONDS:g} s"
    except TransportError as error:
        why = f"{error}; where its certificate is not of the cluster's CA, use --kubelet-insecure-tls"
    except (Forbidden, Unauthorized) as error:
        why = f"{error}; the agent needs the right to get nodes/configz"
    except (VacateError, ConfigError, ValueError, KeyError, TypeError) as error:
        why = str(error) or type(error).__name__
    raise ShutdownRefused(
        "the kubelet terminates pods itself, since it holds a shutdown lock, and its configuration cannot be "
        f"read to see whether the agent would race with it: {why}"
    )
