"""What the hooks interceptor may do: nothing beyond its turns, and Jobs only where an administrator says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from vacate.api.objects import Obj
from vacate.cli.main import cli
from vacate.install import Settings, objects
from vacate.install.settings import DEFAULT_HOOKS

pytestmark = pytest.mark.unit

LIST = "targets:\n  - name: flush\n    url: https://flush.shop.svc/hook\n    namespaces: [shop]\n"


def added() -> dict[tuple[str, str], Obj]:
    before = {(one["kind"], one["metadata"]["name"]) for one in objects(Settings())}
    made = {(one["kind"], one["metadata"]["name"]): one for one in objects(Settings(hooks=DEFAULT_HOOKS))}
    return {key: one for key, one in made.items() if key not in before}


def test_it_has_an_account_and_rights_of_its_own() -> None:
    made = added()
    assert list(made) == [
        ("ServiceAccount", "vacate-hooks"),
        ("ClusterRole", "vacate-hooks"),
        ("ClusterRoleBinding", "vacate-hooks"),
        ("Role", "vacate-hooks"),
        ("RoleBinding", "vacate-hooks"),
        *(
            (f"ValidatingAdmissionPolicy{part}", name)
            for name in ("vacate-confine-hooks-events", "vacate-hooks-own-lease", "vacate-hooks-own-events")
            for part in ("", "Binding")
        ),
        ("ClusterRole", "vacate-hooks-jobs"),
        ("ConfigMap", "vacate-hooks"),
        ("Deployment", "vacate-hooks"),
        ("NetworkPolicy", "vacate-hooks"),
    ]
    verbs = {
        (resource, verb)
        for rule in made["ClusterRole", "vacate-hooks"]["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in ("get", "list", "watch")
    }
    status = {("evictionrequests/status", "patch"), ("evacuations/status", "patch")}
    assert verbs == {*status, ("events", "create"), ("events", "patch")}
    pod = made["Deployment", "vacate-hooks"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "vacate-hooks"


def test_nobody_may_run_jobs_by_default() -> None:
    made = objects(Settings(hooks=DEFAULT_HOOKS))
    bound = [one["roleRef"]["name"] for one in made if one["kind"].endswith("Binding") and "roleRef" in one]
    assert "vacate-hooks-jobs" not in bound
    rules = [rule for one in made if one["kind"] in ("ClusterRole", "Role") for rule in one["rules"]]
    creating = [rule for rule in rules if "jobs" in rule["resources"] and "create" in rule["verbs"]]
    assert len(creating) == 1


@pytest.mark.thorough
def test_the_command_binds_the_interceptor_to_its_account_and_checks_the_list(tmp_path: Path) -> None:
    file = tmp_path / "hooks.yaml"
    file.write_text(LIST)
    shown = CliRunner().invoke(cli, ["install", "--image", "x:1", "--print", "--hooks", str(file)])
    assert shown.exit_code == 0, shown.output
    assert "--interceptor=hooks.vacate.dev=vacate-system/vacate-hooks" in shown.output
    assert "url: https://flush.shop.svc/hook" in shown.output
    file.write_text(LIST.replace("https://", "https://user@"))
    refused = CliRunner().invoke(cli, ["install", "--image", "x:1", "--print", "--hooks", str(file)])
    assert refused.exit_code != 0
    assert "targets[0].url" in str(refused.exception)
