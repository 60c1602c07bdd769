"""Cases of roles and bindings."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import Broken, Cases, Done
from embedded.registry.cases_metadata import SUBDOMAIN, VALUE
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS

_R, _B = "Role-and-ClusterRole/", "RoleBinding-and-ClusterRoleBinding/"
_GROUP = "rbac.authorization.k8s.io"
_RULE: dict[str, Any] = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
_SELECTORS = "aggregationRule.clusterRoleSelectors"

CASES: Cases = (
    Broken(f"{_R}{_SELECTORS}/required", CLUSTERROLES, {"aggregationRule": {}},
           f"{_SELECTORS}: Required value:"
           " at least one clusterRoleSelector required if aggregationRule is non-nil"),
    Broken(f"{_R}{_SELECTORS}[].matchLabels/invalid", CLUSTERROLES,
           {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "!"}}]}},
           f'{_SELECTORS}[0].matchLabels: Invalid value: "!": {VALUE}'),
    Broken(f"{_R}{_SELECTORS}[]/invalid", CLUSTERROLES,
           {"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "?"}]}]}},
           f"{_SELECTORS}[0]: Invalid value: null: invalid label selector."),
    Done(f"{_B}roleRef.apiGroup/default", ROLEBINDINGS, {}, "roleRef.apiGroup", _GROUP),
    Done(f"{_B}subjects[].apiGroup/default", ROLEBINDINGS, {}, "subjects[0].apiGroup", _GROUP),
    Broken(f"{_B}roleRef.apiGroup/unsupported", ROLEBINDINGS, {"roleRef.apiGroup": "x"},
           f'roleRef.apiGroup: Unsupported value: "x": supported values: "{_GROUP}"'),
    Broken(f"{_B}roleRef.kind/unsupported", CLUSTERROLEBINDINGS, {"roleRef.kind": "Role"},
           'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'),
    Broken(f"{_B}roleRef.name/required", ROLEBINDINGS, {"roleRef.name": ""}, "roleRef.name: Required value"),
    Broken(f"{_B}roleRef.name/invalid", ROLEBINDINGS, {"roleRef.name": "a/b"},
           "roleRef.name: Invalid value: \"a/b\": may not contain '/'"),
    Broken(f"{_B}subjects[].name/required", ROLEBINDINGS, {"subjects[0].name": ""},
           "subjects[0].name: Required value"),
    Broken(f"{_B}subjects[].name/invalid", CLUSTERROLEBINDINGS, {"subjects[0].name": "A"},
           f'subjects[0].name: Invalid value: "A": {SUBDOMAIN}'),
    Broken(f"{_B}subjects[].apiGroup/unsupported/account", CLUSTERROLEBINDINGS, {"subjects[0].apiGroup": "x"},
           'subjects[0].apiGroup: Unsupported value: "x": supported values: ""'),
    Broken(f"{_B}subjects[].namespace/required", CLUSTERROLEBINDINGS, {"subjects[0].namespace": ""},
           "subjects[0].namespace: Required value"),
    Broken(f"{_B}subjects[].apiGroup/unsupported/user", ROLEBINDINGS, {"subjects[0].apiGroup": "x"},
           f'subjects[0].apiGroup: Unsupported value: "x": supported values: "{_GROUP}"'),
    Broken(f"{_B}subjects[].kind/unsupported", ROLEBINDINGS, {"subjects[0].kind": "x"},
           'subjects[0].kind: Unsupported value: "x": supported values: "ServiceAccount", "User", "Group"'),
)  # fmt: skip
