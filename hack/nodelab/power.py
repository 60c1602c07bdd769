"""The power of a further node: all that runs on it ends at once, and its programs start after a boot."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

POWER = "VACATE_NODE_POWER"
"""Names the folder in which a file with the name of a node has its state: off, on, or what is wished."""
OFF, ON = "off", "on"
_WISHES = {OFF: "switch off", ON: "switch on"}
_POLL_SECONDS = 0.05


def wish(node: str, state: str, seconds: float) -> None:
    """Return when the node is off or on; TimeoutError where that takes longer."""
    file, end = Path(os.environ[POWER], node), time.monotonic() + seconds
    _write(file, _WISHES[state])
    while file.read_text() != state:
        if time.monotonic() > end:
            raise TimeoutError(f"{node} is not {state} after {seconds:g} s")
        time.sleep(_POLL_SECONDS)


def state_of(node: str) -> str:
    """off or on; what is wished counts only when it has been done."""
    file = Path(os.environ[POWER], node)
    text = file.read_text() if file.exists() else ON
    return {_WISHES[OFF]: ON, _WISHES[ON]: OFF}.get(text, text)


def wished(folder: Path, node: str) -> str:
    """off or on where one of them is wished and not done yet, else nothing."""
    with contextlib.suppress(FileNotFoundError):
        text = (folder / node).read_text()
        return next((state for state, wanted in _WISHES.items() if wanted == text), "")
    return ""


def done(folder: Path, node: str, state: str) -> None:
    """Say that it was done."""
    _write(folder / node, state)


def end_all(network: str, keeper: int) -> None:
    """Kill what runs in a network namespace, and all that it has started, but for the namespace's keeper.

    First all of it is stopped: then nothing can start anything that would escape.
    """
    stopped = set[int]()
    while found := _members(network, keeper) - stopped:
        for number in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGSTOP)
        stopped |= found
    for number in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _members(network: str, keeper: int) -> set[int]:
    """Containers have networks of their own, but descend from programs of the node."""
    children: dict[int, list[int]] = {}
    found = list[int]()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it has ended meanwhile
            number = int(entry.name)
            # The name of the program may hold anything; what follows it does not.
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state == "Z":
                continue
            children.setdefault(int(parent), []).append(number)
            if number != keeper and str((entry / "ns/net").readlink()) == network:
                found.append(number)
    members = set[int]()
    while found:
        number = found.pop()
        if number not in members:
            members.add(number)
            found += children.get(number, [])
    return members


def _write(file: Path, text: str) -> None:
    """At once: the other side reads all of it or nothing."""
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.rename(file)
