"""Make docs/reference/rules.md from the table of rules.

python -m hack.rules.page            writes the page
python -m hack.rules.page --verify   fails where the page differs
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from hack.rules.table import ROOT, Rule, load

PAGE = ROOT / "docs/reference/rules.md"
_HEAD = """\
# Rules and their tests

What Vacate promises about EvictionRequests, termination reasons, hooks and fencing, rule by rule. Each
comes from the design of the API, by section, or from a [decision](../design/decisions.md) where the
design is silent, by number. Tests check each rule, and fail when it is removed from the sources:
`python -m hack.rules.check` removes one rule after the other and runs its tests. The table with the tests is
[`tests/rules/rules.toml`](../../tests/rules/rules.toml); this page is generated from it
by `python -m hack.rules.page`.
"""
_TITLES = {
    "api": "The kind and its fields",
    "registration": "Interceptors of a pod",
    "creation": "Creating a request",
    "changes": "Changing and deleting a request",
    "status": "Changing its status",
    "turns": "Turns of interceptors",
    "eviction": "The eviction",
    "completion": "Completion",
    "writes": "What the controller writes",
    "controller": "The controller at work",
    "metrics": "Metrics and gates",
    "interceptors": "What the SDK guarantees for interceptors",
    "requesters": "What the SDK and the CLI guarantee for requesters",
    "stock": "Stock clusters",
    "authority": "Who writes what",
    "evacuation": "The Evacuation API",
    "bridge": "The eviction bridge",
    "reasons": "Termination reasons",
    "hooks": "Hooks",
    "fencing": "Fencing with Jobs",
    "shutdown": "Nodes that shut down",
    "volumes": "Exclusive volumes and pod safety",
    "trust": "What others write is not trusted",
    "lifecycle": "lifecycle.k8s.io",
}


def page(rules: Iterable[Rule]) -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_chapters(rules)])


def _chapters(rules: Iterable[Rule]) -> Iterator[str]:
    for chapter, members in groupby(rules, key=lambda rule: rule.chapter):
        yield f"## {_TITLES[chapter]}\n\n| rule | from | tests |\n|---|---|---|"
        yield "".join(f"{_row(rule)}\n" for rule in members)


def _row(rule: Rule) -> str:
    held = str(len(rule.tests)) if rule.tests else f"later: {rule.later}"
    origin = ", ".join(one.removeprefix("seed: ") for one in rule.source)
    return f'| <a id="{rule.id}"></a>{rule.says} | {origin} | {held} |'


def main(arguments: list[str]) -> int:
    """Write the page, or verify it."""
    made = page(load())
    if "--verify" in arguments:
        return 0 if PAGE.read_text() == made else 1
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
