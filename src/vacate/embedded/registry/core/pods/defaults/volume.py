"""What the author of a volume need not write."""

from __future__ import annotations

from typing import Any

from vacate.api.kinds import Kind
from vacate.api.lenient import child, maps, text
from vacate.api.objects import Obj, dig
from vacate.embedded.registry.core.pods.defaults.container import pull_policy
from vacate.embedded.registry.core.quantities import canonical_list

_FILE_MODE = 0o644
_HOUR = 3600
_OF_SOURCE: dict[str, Obj] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume(volume: Obj, kind: Kind) -> None:
    """Defaults of a volume, by its source."""
    if not any(type(value) is dict for value in volume.values()):
        volume["emptyDir"] = {}
    for key in ("configMap", "secret", "downwardAPI", "projected"):
        if type(source := volume.get(key)) is dict:
            source.setdefault("defaultMode", _FILE_MODE)
            _default_field_references(source.get("items"))
    default_source(volume)
    if type(image := volume.get("image")) is dict and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(text(image.get("reference")))
    if type(template := dig(volume, "ephemeral", "volumeClaimTemplate")) is dict:
        _default_claim(child(template, "spec"), kind)
    if type(projected := volume.get("projected")) is dict:
        _default_projection(projected)


def default_source(volume: Obj) -> None:
    """Defaults of sources that pods and persistent volumes share."""
    for key, wanted in _OF_SOURCE.items():
        if type(source := volume.get(key)) is dict:
            for name, value in wanted.items():
                source.setdefault(name, value)


def _default_claim(claim: Obj, kind: Kind) -> None:
    claim.setdefault("volumeMode", "Filesystem")
    for key in ("requests", "limits"):
        canonical_list(dig(claim, "resources", key), kind)


def _default_projection(projected: Obj) -> None:
    for source in maps(projected.get("sources")):
        if type(token := source.get("serviceAccountToken")) is dict:
            token.setdefault("expirationSeconds", _HOUR)
        if type(downward := source.get("downwardAPI")) is dict:
            _default_field_references(downward.get("items"))


def _default_field_references(items: Any) -> None:
    for item in maps(items):
        if type(reference := item.get("fieldRef")) is dict and not reference.get("apiVersion"):
            reference["apiVersion"] = "v1"
