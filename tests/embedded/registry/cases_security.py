"""Cases of pods: the users of their processes, and what their volumes are by default."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from embedded.registry.case_types import Broken, Cases, Done
from vacate.api.kinds import PODS

_V = "Pod/spec.volumes[]."
_S = "spec.securityContext."
_C = "spec.containers[0].securityContext"
_RANGE = "must be between 0 and 2147483647, inclusive"

VOLUMES: Cases = (
    Done(f"{_V}iscsi.iscsiInterface/default", PODS, {"spec.volumes": [{"name": "v", "iscsi": {}}]},
         "spec.volumes[0].iscsi.iscsiInterface", "default"),
    Done(f"{_V}iscsi.iscsiInterface/default", PODS, {"spec.volumes": [{"name": "v", "azureDisk": {"kind": "Managed"}}]},
         "spec.volumes[0].azureDisk",
         {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Managed", "diskName": "", "diskURI": ""}),
    Done(f"{_V}ephemeral.volumeClaimTemplate.spec.volumeMode/default", PODS,
         {"spec.volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"limits": {"storage": "1024Mi"}}}}}}]},
         "spec.volumes[0].ephemeral.volumeClaimTemplate.spec",
         {"volumeMode": "Filesystem", "resources": {"limits": {"storage": "1Gi"}}}),
)  # fmt: skip

CONTEXTS: Cases = (
    Broken(f"Pod/{_S}runAsUser/invalid", PODS, {f"{_S}runAsUser": -1}, f"{_S}runAsUser: Invalid value: -1: {_RANGE}"),
    Broken("Pod/spec.containers[].securityContext.runAsUser/invalid", PODS, {_C: {"runAsUser": 2**31}},
           f"{_C}.runAsUser: Invalid value: 2147483648: {_RANGE}"),
)  # fmt: skip

CASES: Cases = (*VOLUMES, *CONTEXTS)
