"""Cases of PersistentVolumes, PersistentVolumeClaims and StorageClasses. The messages are a real server's."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep
from embedded.registry.given import GONE
from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES

_V, _P, _S = "PersistentVolume/", "PersistentVolumeClaim/", "StorageClass/"
_MODES = 'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
_POLICIES = 'supported values: "Delete", "Recycle", "Retain"'
_SOURCE = "spec.persistentvolumesource"
_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

VOLUME_CASES: Cases = (
    Done(f"{_V}spec.persistentVolumeReclaimPolicy/default", PERSISTENTVOLUMES, {}, "spec.persistentVolumeReclaimPolicy", "Retain"),
    Done(f"{_V}spec.volumeMode/default", PERSISTENTVOLUMES, {}, "spec.volumeMode", "Filesystem"),
    Done(f"{_V}metadata.finalizers/set", PERSISTENTVOLUMES, {}, "metadata.finalizers", ["kubernetes.io/pv-protection"]),
    Done(f"{_V}status/dropped", PERSISTENTVOLUMES, {"status": {"phase": "Bound"}}, "status.phase", "Pending"),
    DoneByStep(f"{_V}status/kept", PERSISTENTVOLUMES, {"status.phase": "Bound"}, "status.phase", "Pending"),
    DoneByStep(f"{_V}spec/kept", PERSISTENTVOLUMES, {"spec.storageClassName": "x"}, "spec.storageClassName", None,
               subresource="status"),
    Broken(f"{_V}spec.accessModes/required", PERSISTENTVOLUMES, {"spec.accessModes": GONE}, "spec.accessModes: Required value"),
    Broken(f"{_V}spec.accessModes/unsupported", PERSISTENTVOLUMES, {"spec.accessModes": ["x"]},
           f'spec.accessModes: Unsupported value: "x": {_MODES}'),
    Broken(f"{_V}spec.capacity/required", PERSISTENTVOLUMES, {"spec.capacity": GONE}, "spec.capacity: Required value"),
    Broken(f"{_V}spec.capacity/unsupported", PERSISTENTVOLUMES, {"spec.capacity": {"cpu": "1"}},
           'spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"'),
    Broken(f"{_V}spec.capacity[]/invalid", PERSISTENTVOLUMES, {"spec.capacity": {"storage": "-1"}},
           'spec.capacity[storage]: Invalid value: "-1": must be greater than zero'),
    Broken(f"{_V}spec/required", PERSISTENTVOLUMES, {"spec.nfs": GONE}, "spec: Required value: must specify a volume type"),
    Broken(f"{_V}spec.nfs/forbidden", PERSISTENTVOLUMES, {"spec.hostPath": {"path": "/data"}},
           "spec.nfs: Forbidden: may not specify more than 1 volume type"),
    Broken(f"{_V}spec.persistentVolumeReclaimPolicy/unsupported", PERSISTENTVOLUMES, {"spec.persistentVolumeReclaimPolicy": "x"},
           f'spec.persistentVolumeReclaimPolicy: Unsupported value: "x": {_POLICIES}'),
    Broken(f"{_V}spec.volumeMode/unsupported", PERSISTENTVOLUMES, {"spec.volumeMode": "x"},
           'spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"'),
    BrokenStep(f"{_V}{_SOURCE}/forbidden", PERSISTENTVOLUMES, {"spec.nfs.path": "/other"},
               f"{_SOURCE}: Forbidden: {_SOURCE} is immutable after creation"),
    BrokenStep(f"{_V}volumeMode/invalid", PERSISTENTVOLUMES, {"spec.volumeMode": "Block"},
               'volumeMode: Invalid value: "Block": field is immutable'),
)  # fmt: skip

CLAIM_CASES: Cases = (
    Done(f"{_P}spec.volumeMode/default", PERSISTENTVOLUMECLAIMS, {}, "spec.volumeMode", "Filesystem"),
    Done(f"{_P}metadata.finalizers/set", PERSISTENTVOLUMECLAIMS, {}, "metadata.finalizers", ["kubernetes.io/pvc-protection"]),
    Done(f"{_P}status/dropped", PERSISTENTVOLUMECLAIMS, {"status": {"phase": "Bound"}}, "status.phase", "Pending"),
    DoneByStep(f"{_P}status/kept", PERSISTENTVOLUMECLAIMS, {"status.phase": "Bound"}, "status.phase", "Pending"),
    DoneByStep(f"{_P}spec/kept", PERSISTENTVOLUMECLAIMS, {"spec.volumeName": "x"}, "spec.volumeName", None, subresource="status"),
    Broken(f"{_P}spec.accessModes/required", PERSISTENTVOLUMECLAIMS, {"spec.accessModes": GONE},
           "spec.accessModes: Required value: at least 1 access mode is required"),
    Broken(f"{_P}spec.accessModes/unsupported", PERSISTENTVOLUMECLAIMS, {"spec.accessModes": ["x"]},
           f'spec.accessModes: Unsupported value: "x": {_MODES}'),
    Broken(f"{_P}spec.resources[storage]/required", PERSISTENTVOLUMECLAIMS, {"spec.resources": GONE},
           "spec.resources[storage]: Required value"),
    Broken(f"{_P}spec.resources[storage]/invalid", PERSISTENTVOLUMECLAIMS, {"spec.resources.requests.storage": "-1"},
           'spec.resources[storage]: Invalid value: "-1": must be greater than zero'),
    Broken(f"{_P}spec.storageClassName/invalid", PERSISTENTVOLUMECLAIMS, {"spec.storageClassName": "A"},
           f'spec.storageClassName: Invalid value: "A": {_SUBDOMAIN}'),
    Broken(f"{_P}spec.volumeMode/unsupported", PERSISTENTVOLUMECLAIMS, {"spec.volumeMode": "x"},
           'spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"'),
    BrokenStep(f"{_P}spec/forbidden", PERSISTENTVOLUMECLAIMS, {"spec.accessModes": ["ReadOnlyMany"]}, f"spec: Forbidden: {_FIXED}"),
)  # fmt: skip

CLASS_CASES: Cases = (
    Done(f"{_S}reclaimPolicy/default", STORAGECLASSES, {}, "reclaimPolicy", "Delete"),
    Done(f"{_S}volumeBindingMode/default", STORAGECLASSES, {}, "volumeBindingMode", "Immediate"),
    Broken(f"{_S}provisioner/required", STORAGECLASSES, {"provisioner": ""}, "provisioner: Required value"),
    Broken(f"{_S}reclaimPolicy/unsupported", STORAGECLASSES, {"reclaimPolicy": "x"},
           'reclaimPolicy: Unsupported value: "x": supported values: "Delete", "Retain"'),
    Broken(f"{_S}volumeBindingMode/unsupported", STORAGECLASSES, {"volumeBindingMode": "x"},
           'volumeBindingMode: Unsupported value: "x": supported values: "Immediate", "WaitForFirstConsumer"'),
    BrokenStep(f"{_S}provisioner/invalid", STORAGECLASSES, {"provisioner": "x"},
               'provisioner: Invalid value: "x": field is immutable'),
    BrokenStep(f"{_S}parameters/forbidden", STORAGECLASSES, {"parameters": {"a": "b"}},
               "parameters: Forbidden: updates to parameters are forbidden."),
    BrokenStep(f"{_S}reclaimPolicy/invalid", STORAGECLASSES, {"reclaimPolicy": "Retain"},
               'reclaimPolicy: Invalid value: "Retain": field is immutable'),
    BrokenStep(f"{_S}volumeBindingMode/invalid", STORAGECLASSES, {"volumeBindingMode": "WaitForFirstConsumer"},
               'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable'),
)  # fmt: skip

CASES: Cases = (*VOLUME_CASES, *CLAIM_CASES, *CLASS_CASES)
