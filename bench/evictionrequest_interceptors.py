"""Interceptors that have nothing to do, as a process of their own.

python -m bench.evictionrequest_interceptors KUBECONFIG NAME…
"""

from __future__ import annotations

import sys

from vacate.sdk import EvictionContext, Interceptor, run_interceptors


async def nothing(leave: EvictionContext) -> None:
    """Done at once: what remains is what the process itself costs."""


if __name__ == "__main__":
    run_interceptors(
        *(Interceptor(name, nothing, concurrency=64) for name in sys.argv[2:]), kubeconfig=sys.argv[1]
    )
