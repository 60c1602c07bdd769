"""The configuration file: what is understood, what is refused, and which field the refusal names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from vacate.api.durations import format_duration, parse_duration
from vacate.cli.common.kubeletconfig import read_config_file
from vacate.errors import ConfigError
from vacate.features import FeatureGates, parse_feature_gates
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import read_config

pytestmark = pytest.mark.unit

BASE = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
BY = "shutdownGracePeriodByPodPriority"
TOTAL, CRITICAL = "shutdownGracePeriod", "shutdownGracePeriodCriticalPods"
PRIORITY_GATE = "GracefulNodeShutdownBasedOnPodPriority"


def entry(priority: Any, seconds: Any) -> dict[str, Any]:
    return {"priority": priority, "shutdownGracePeriodSeconds": seconds}


@pytest.mark.parametrize(
    ("fields", "buckets"),
    [
        ({}, []),
        ({TOTAL: "0s", CRITICAL: "0s"}, []),
        ({BY: []}, []),
        ({BY: [entry(0, 0), entry(5, 0)]}, []),
        ({TOTAL: "300s", CRITICAL: "120s"}, [(0, 180), (2_000_000_000, 120)]),
        ({TOTAL: "30s"}, [(0, 30), (2_000_000_000, 0)]),
        ({TOTAL: "30s", CRITICAL: "30s"}, [(0, 0), (2_000_000_000, 30)]),
        ({TOTAL: "1m30s", CRITICAL: "1500ms"}, [(0, 88.5), (2_000_000_000, 1.5)]),
        (
            {BY: [entry(100000, 10), entry(0, 60), entry(1000, 120), entry(-5, 1)]},
            [(-5, 1), (0, 60), (1000, 120), (100000, 10)],
        ),
        ({BY: [{"shutdownGracePeriodSeconds": 7}]}, [(0, 7)]),
        ({"featureGates": {"GracefulNodeShutdown": False}, BY: [entry(0, 60)]}, []),
        ({"featureGates": {PRIORITY_GATE: False}, TOTAL: "10s"}, [(0, 10), (2_000_000_000, 0)]),
        ({"featureGates": {"SomethingOfTheKubelet": "yes"}, "maxPods": 5, TOTAL: "1s"},
         [(0, 1), (2_000_000_000, 0)]),
    ],
)  # fmt: skip
def test_buckets(fields: dict[str, Any], buckets: list[tuple[int, float]]) -> None:
    config = read_config(BASE | fields)
    assert config.buckets == tuple(Bucket(*one) for one in buckets)
    assert config.enabled is bool(buckets)
    assert bool(config.disabled_because) is not config.enabled


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"kind": "KubeProxyConfiguration"}, "kind: must be KubeletConfiguration"),
        ({"apiVersion": "v1"}, "apiVersion: must be kubelet.config.k8s.io/v1beta1"),
        (
            {TOTAL: "10s", CRITICAL: "11s"},
            CRITICAL + ": must not be longer than shutdownGracePeriod, which is 10s",
        ),
        ({CRITICAL: "11s"}, f"{CRITICAL}: must not be longer than {TOTAL}, which is 0s"),
        ({"shutdownGraceperiod": "10s"}, "shutdownGraceperiod: is not a field; write shutdownGracePeriod"),
        ({BY + "s": []}, BY + f"s: is not a field; write {BY}"),
        ({TOTAL: "10s", BY: [entry(0, 1)]}, BY + ": cannot be combined with shutdownGracePeriod;"),
        ({TOTAL: "999ms"}, TOTAL + ": must be 0, or from 1s"),
        ({TOTAL: "-5s"}, TOTAL + ": must be 0, or from 1s"),
        ({TOTAL: "10"}, TOTAL + ": '10' is not a duration"),
        ({TOTAL: 10}, TOTAL + ": must be a duration such as 30s, not 10"),
        ({CRITICAL: "soon"}, CRITICAL + ": 'soon' is not a duration"),
        ({BY: {"0": 10}}, BY + ": must be a list"),
        ({BY: [5]}, BY + "[0]: must have"),
        ({BY: [entry(0, 1), entry(0, 2)]}, BY + "[1].priority: 0 is given twice"),
        ({BY: [entry(2**31, 1)]}, BY + "[0].priority: must be an integer"),
        ({BY: [entry("high", 1)]}, BY + "[0].priority: must be an integer"),
        ({BY: [entry(0, -1)]}, BY + "[0].shutdownGracePeriodSeconds: must be an integer"),
        ({BY: [entry(0, 1.5)]}, BY + "[0].shutdownGracePeriodSeconds: must be an integer"),
        ({BY: [entry(0, True)]}, BY + "[0].shutdownGracePeriodSeconds: must be an integer"),
        ({BY: [entry(0, 1) | {"prority": 5}]}, BY + "[0]: has no field 'prority'; there are priority and"),
        ({TOTAL: "1s" * 1000}, TOTAL + ": '1s1s"),
        ({"featureGates": ["a"]}, "featureGates: must map"),
        ({"featureGates": {PRIORITY_GATE: "on"}}, f"featureGates.{PRIORITY_GATE}: must be true or false"),
        ({"featureGates": {PRIORITY_GATE: False}, BY: [entry(0, 1)]}, BY + ": needs feature gate"),
    ],
)
def test_a_bad_value_names_its_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(BASE | fields, source="node.yaml")
    assert str(caught.value).startswith("node.yaml: " + named)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(BASE | {TOTAL: "x", BY: [entry(0, -1), 7]})
    assert len(str(caught.value).splitlines()) == 3


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"node\.yaml: not a KubeletConfiguration"):
        read_config(["a"], source="node.yaml")


_HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
_BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 8)}]\n" for n in range(12)
)


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_HEAD + "x: " + "[" * 1000 + "]" * 1000, "nested too deeply"),
        (_HEAD + _BOMB + f"{TOTAL}: *m\n", f"{TOTAL}: must be a duration such as 30s, not ["),
        (_HEAD + f"{BY}:\n- {{priority: {'9' * 5000}}}\n", "neither YAML nor JSON"),
        (_HEAD + f"{BY}:\n- {{priority: {'9' * 4000}}}\n", f"{BY}[0].priority: must be an integer"),
        (_HEAD + f"{TOTAL}: 2026-99-99\n", "neither YAML nor JSON"),
        (_HEAD + f"{TOTAL}: !!python/object/apply:os.system [id]\n", "neither YAML nor JSON"),
        (_HEAD + "#" * (1 << 20), "is longer than 1048576 bytes"),
        ("a\0b", "neither YAML nor JSON"),
        ("", "not a KubeletConfiguration"),
        (_HEAD + f"{TOTAL}: 30s\nx: 1\n{TOTAL}: 60s\n", f"line 5: {TOTAL} is given twice; keep one"),
        (_HEAD + f"{BY}:\n- {{priority: 1, priority: 2}}\n", "line 4: priority is given twice; keep one"),
        (_HEAD + "x: [\n", "is neither YAML nor JSON: line 4: "),
        ("{" + f'"{TOTAL}": "1s", "{TOTAL}": "2s"' + "}", f"{TOTAL} is given twice; keep one"),
    ],
    ids=[
        "deep",
        "bomb",
        "huge number",
        "big number",
        "date",
        "tag",
        "long",
        "nul",
        "empty",
        "twice",
        "entry twice",
        "unclosed",
        "twice in JSON",
    ],
)
def test_a_file_of_hostile_content_is_one_short_error(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        read_config_file(file, FeatureGates())
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + _HEAD.replace("\n", "\r\n") + f"{TOTAL}: 1h30m\r\n",
        json.dumps(BASE | {TOTAL: "1h30m"}, indent="\t"),
        _HEAD + f"evictionHard: {{memory.available: much}}\nserializeImagePulls: no\n{TOTAL}: 1h30m\n",
        _HEAD + f"kubeReserved: {{cpu: 1, cpu: 2}}\n{TOTAL}: 1h30m\n---\n",
    ],
    ids=["of Windows", "JSON with tabs", "other fields", "two documents, the second empty"],
)
def test_files_as_administrators_have_them(tmp_path: Path, content: str) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(content, newline="")
    assert read_config_file(file, FeatureGates()).total_seconds == 5400


def test_a_gate_of_the_command_line_wins_over_the_file() -> None:
    document = BASE | {"featureGates": {"GracefulNodeShutdown": True}, TOTAL: "5s"}
    assert not read_config(document, parse_feature_gates("GracefulNodeShutdown=false")).enabled


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h2m3s", 3723), (".5s", 0.5), ("1.5m", 90), ("0", 0), ("-2s", -2), ("250ms", 0.25)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "s", "1s2", "1 s", "- 1s", "1d", "1e9s", "9999999999h", "+", "--1s"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize("seconds", [0, 1, 59.5, 60, 61, 3600, 3661.25, 86400])
def test_a_duration_is_read_as_it_was_written(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds)
