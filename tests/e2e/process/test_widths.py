"""What commands show fits the terminal: tables, summaries and sentences. In a pipe nothing is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import Lab
from support.processes.screens import OWN_SEQUENCE
from support.waiting import until
from vacate.cli.common.output import table

pytestmark = pytest.mark.process

BACKUP, LEDGER = "backup.payments.example.com", "ledger-database-of-payments-0"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MOVED = re.compile(r"\r|\x1b\[[0-9;?]*[A-HJKSTfnsu]")
"""What begins to draw a line anew."""
COMMAND = re.compile(r"\s*(\$ )?(kubectl|vacate) ")

COMMANDS = (
    f"evict {LEDGER} held",
    f"evict {LEDGER} held --dry-run",
    "drain node-1 node-2 --dry-run",
    "drain node-1 node-2 --force --dry-run",
    "drain node-3 --dry-run",
    "drain node-1 node-2 --force --timeout 1s",
    "drains",
    "status",
    "status -A",
    f"explain {LEDGER}",
    "explain held",
    "explain node/node-2",
    "explain deployment/frontend-of-the-checkout",
    "interceptors",
    "check",
    "version",
    "deschedule",
    "fence node-1 --dry-run",
    "cancel held --dry-run",
    "plan node-1 node-2 --runs 1 --no-remedies",
    "plan --all-nodes --force --runs 1 --no-remedies",
    "plan node-3 --max-nodes 1,2 --runs 1",
    "plan --cluster",
    "drain node-1 node-2 --cancel --dry-run",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A pod that an interceptor holds, one that a budget holds, and a Deployment whose pods can move."""
    with running_cluster(tmp_path_factory.mktemp("widths") / "dir", "--nodes", "3", *FAST_PODS) as running:
        lab = Lab(running)
        lab.pod("held", BACKUP, nodeName="node-1")
        lab.pod(LEDGER, labels={"app": "ledger"}, nodeName="node-2")
        lab.budget("ledger", 1)
        metadata, labels = {"name": "frontend-of-the-checkout"}, {"app": "checkout"}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
        spec = {"replicas": 4, "selector": {"matchLabels": labels}, "template": pod}
        lab.https.create(DEPLOYMENTS, {"metadata": metadata, "spec": spec})
        made = f"{DEPLOYMENTS}/{metadata['name']}"
        until(lambda: lab.https.get(made).ok().get("status", {}).get("readyReplicas") == 4)
        lab.budget("checkout", 3)
        for words in ("evict held", f"evict {LEDGER}", "drain node-1 node-2 --force --detach"):
            assert lab.vacate(*words.split()).code == 0
        until(lambda: "blocked" in lab.vacate("drains").out.lower())
        yield lab


@pytest.mark.parametrize("columns", [60, 80, 0])
@pytest.mark.parametrize("words", COMMANDS)
def test_every_line_fits(lab: Lab, words: str, columns: int) -> None:
    ended = lab.vacate(*words.split(), columns=columns)
    lines = [OWN_SEQUENCE.sub("", line) for line in re.split(rf"\n|{MOVED.pattern}", ended.out + ended.err)]
    assert len("".join(lines)) > 20
    if not columns:
        assert not [line for line in lines if line.endswith("…")]
        return
    # A command is on one line, to be copied; a name is not broken either.
    wide = [line for line in lines if len(line) > columns and not COMMAND.match(line)]
    assert [line for line in wide if len(line.split()) > 1] == []


def test_a_table_that_does_not_fit_is_a_block_for_each_row() -> None:
    rows = [
        ("NAME", "STATE", "LAST ANSWER"),
        ("backup.example.com", "Answers", "3s ago"),
        ("", "more", ""),
        ("absent.example.com", "NeverAnswered", "-"),
    ]
    assert table(rows)[1] == "backup.example.com   Answers         3s ago"
    assert table(rows, 48) == table(rows)
    assert table(rows, 30) == [
        "backup.example.com",
        "  state Answers,",
        "    last answer 3s ago",
        "  state more",
        "absent.example.com",
        "  state NeverAnswered",
    ]
