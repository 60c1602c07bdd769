"""What a policy, or a Secret that it names, makes an agent do: switch a machine, and nothing else."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from vacate.api.types import Node, ObjectMeta
from vacate.api.types.fencingpolicy import AgentSpec, CommandAgent, SecretReference
from vacate.clock import SystemClock
from vacate.entropy import seeded_entropy
from vacate.errors import ConfigError, FencingFailed
from vacate.fenceagents.configured import ConfiguredAgents
from vacate.fencing.agentprotocol import redacted
from vacate.httpclient.addresses import read_networks

pytestmark = pytest.mark.process

REF = SecretReference(namespace="bmc", name="of-$(NODE)")


class Secrets:
    """A client that knows one Secret."""

    def __init__(self, **data: str) -> None:
        self._data = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}

    async def get(self, *_: Any) -> dict[str, Any]:
        return {"data": self._data}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent that runs what it is given as ssh_path, as those of ClusterLabs do."""
    agent = tmp_path / "fence_virsh"
    agent.write_text(
        "#!/bin/sh\nwhile IFS= read -r line; do\n"
        'case $line in ssh_path=*|ssh-path=*) "${line#*=}";; esac\ndone\n'
    )
    agent.chmod(0o755)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


async def call(
    options: dict[str, str], secret: dict[str, str] | None = None, *, listed: tuple[str, ...] = ()
) -> None:
    """As the controller does it, with a policy that the server has once taken."""
    agents = ConfiguredAgents(
        Secrets(**(secret or {})),  # type: ignore[arg-type]
        SystemClock(),
        seeded_entropy(1),
        listed=read_networks(listed, ""),
    )
    spec = CommandAgent(program="fence_virsh", options=options, secret_ref=REF if secret else None)
    node = Node(metadata=ObjectMeta(name="worker-3", uid="u-3"))
    made = await agents.for_node(AgentSpec(command=spec), node, "step")
    await made.off()


@pytest.mark.parametrize("name", ["ssh_path", "ssh-path"])
@pytest.mark.parametrize("of_secret", [False, True])
async def test_no_option_names_a_program(installed: Path, name: str, of_secret: bool) -> None:
    given = {name: str(installed / "program")}
    with pytest.raises(ConfigError, match=f"fence_virsh is not given {name}: .* runs as a Job") as raised:
        await call(*({"ip": "10.0.0.7"}, given) if of_secret else (given,))
    assert str(raised.value).startswith(
        "Secret bmc/of-worker-3: " if of_secret else "spec.agent.command.options: "
    )
    assert not (installed / "ran").exists()


@pytest.mark.parametrize(
    ("options", "secret", "message"),
    [
        ({"passwd": "s3cret"}, {}, "is not given passwd"),
        ({"identity_file": "/etc/key"}, {}, "is not given identity_file"),
        ({"lanplus": "1"}, {}, "is not given lanplus"),
        ({"ip": "10.0.0.7 -o ProxyCommand=touch"}, {}, "the value of ip is not one word"),
        ({}, {"ip": "10.0.0.7;touch"}, "the value of ip is not one word"),
        ({}, {"username": "-oProxyCommand=touch", "passwd": "p w;$(x)"}, "the value of username is not one"),
    ],
)
async def test_other_options_that_are_none_of_a_machine(
    installed: Path, options: dict[str, str], secret: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        await call(options, secret)
    assert "s3cret" not in str(raised.value)


async def test_a_password_may_be_any_text_and_names_are_as_agents_take_them(installed: Path) -> None:
    await call({"ip": "10.0.0.7", "power-wait": "4"}, {"password": "p w;$(x)", "username": "root"})


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "localhost", "::1", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "169.254.169.254",
     "100.100.100.200", "192.0.0.192", "0.0.0.0"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["ip", "IPaddr"])
async def test_an_agent_is_not_sent_to_this_machine_or_to_a_metadata_service(
    installed: Path, address: str, name: str
) -> None:
    with pytest.raises(ConfigError, match=r"is not one of another machine.*--fencing-allow-address"):
        await call({name: address})


async def test_what_the_administrator_lists_may_be_called(installed: Path) -> None:
    await call({"ip": "127.0.0.1"}, listed=("127.0.0.0/8",))
    with pytest.raises(FencingFailed, match="cannot be looked up"):
        await call({"ip": "nowhere.invalid"})


SECRET = 's3/cr"t + gé&?'


@pytest.mark.parametrize(
    "printed",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode(),
        *(base64.b64encode(f"{user}:{SECRET}".encode()).decode() for user in ("a", "ab", "root", "admin")),
        base64.urlsafe_b64encode(f"root:{SECRET}:x".encode()).decode(),
        quote(SECRET), quote(SECRET, safe=""), quote_plus(SECRET), quote(SECRET, safe="").lower(),
        json.dumps({"p": SECRET}), json.dumps({"p": SECRET}, ensure_ascii=False), repr(SECRET),
        SECRET.encode().hex(),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["passwd", "password", "secret_key", "token", "snmp_priv_passwd"])
def test_a_secret_is_hidden_however_it_is_written(name: str, printed: str) -> None:
    shown = redacted(f"login as root: {printed} failed at 10.0.0.1", {name: SECRET, "username": "root"})
    assert shown.startswith("login as root: ")
    assert shown.endswith(" failed at 10.0.0.1")
    assert "***" in shown
    hidden = shown.removeprefix("login as root: ").removesuffix(" failed at 10.0.0.1")
    assert set(hidden) <= set("*\"{p: }'")


def test_hiding_costs_little_however_much_is_printed() -> None:
    text = "A" * 65_536
    assert redacted(text, {"passwd": "s3cret"}) == text
