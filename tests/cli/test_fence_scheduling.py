"""What `vacate fence --undo` says of the pods of a node that is on again."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.types import Node
from vacate.cli.fence import scheduling

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("ready", "cordoned", "expected"),
    [
        ("True", False, "takes pods"),
        ("Unknown", False, "takes pods once it is Ready"),
        ("", False, "takes pods once it is Ready"),
        ("True", True, "is still cordoned"),
        ("Unknown", True, "is still cordoned"),
    ],
)
def test_whether_a_node_takes_pods(ready: str, cordoned: bool, expected: str) -> None:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    node = {
        "metadata": {"name": "lost"},
        "spec": {"unschedulable": cordoned},
        "status": {"conditions": conditions},
    }
    assert scheduling(msgspec.convert(node, Node)) == expected
