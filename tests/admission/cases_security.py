"""Cases of pods: what their containers may do on the host, and what their volumes are by default."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from admission.case_types import Cases, Done
from vacate.api.kinds import PODS

_V = "Pod/spec.volumes[]."

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
CASES: Cases = VOLUMES
