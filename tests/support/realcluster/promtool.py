"""promtool, as those who write rules use it; from the folder of `make peers`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from support.realcluster.peers import peer
from vacate.api.objects import Obj


@dataclass(frozen=True)
class Firing:
    """An alert as somebody gets it."""

    summary: str
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Alert:
    """Series, a value a minute each, and what is firing about them after so many minutes."""

    alert: str
    series: dict[str, str]
    minutes: int
    firing: Firing | None = None


def check_rules(folder: Path, rules: Obj) -> str:
    """What promtool says about the groups of a PrometheusRule."""
    return _run("check", "rules", "--lint=all", "--lint-fatal", str(_rules_file(folder, rules)))


def check_metrics(exposition: str) -> str:
    """What promtool finds to say about the text of a scrape; nothing where it is in order."""
    command = [str(peer("promtool")), "check", "metrics", "--lint=all"]
    done = subprocess.run(command, input=exposition, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def check_alert(folder: Path, rules: Obj, case: Alert) -> str:
    """Fails where the alert is not firing as the case says."""
    series = [{"series": name, "values": values} for name, values in case.series.items()]
    expected = [_expected(rules, case.alert, case.firing)] if case.firing else []
    check = {"alertname": case.alert, "eval_time": f"{case.minutes}m", "exp_alerts": expected}
    group = {"interval": "1m", "input_series": series, "alert_rule_test": [check]}
    file = folder / "case.yaml"
    firing = {
        "rule_files": [str(_rules_file(folder, rules))],
        "evaluation_interval": "1m",
        "tests": [group],
    }
    file.write_text(yaml.safe_dump(firing))
    return _run("test", "rules", str(file))


def parse(expression: str) -> str:
    """The expression as Prometheus understands it."""
    return _run("promql", "format", "--experimental", expression)


def _rules_file(folder: Path, rules: Obj) -> Path:
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": rules["spec"]["groups"]}))
    return file


def _expected(rules: Obj, alert: str, firing: Firing) -> dict[str, Any]:
    (rule,) = [one for group in rules["spec"]["groups"] for one in group["rules"] if one["alert"] == alert]
    annotations = {**rule["annotations"], "summary": firing.summary}
    return {"exp_labels": {**rule["labels"], **firing.labels}, "exp_annotations": annotations}


def _run(*arguments: str) -> str:
    done = subprocess.run([str(peer("promtool")), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
