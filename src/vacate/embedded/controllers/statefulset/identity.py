"""What makes a pod a member of its StatefulSet: its ordinal, its name, its labels."""

from __future__ import annotations

from typing import Any

from vacate.api.kinds import STATEFULSETS
from vacate.api.types import ControllerRevision, Pod, StatefulSet
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH, template_of
from vacate.kube.ownership import carried, controller_reference

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def pod_name(stateful_set: StatefulSet, ordinal: int) -> str:
    """The name of the member with this ordinal."""
    return f"{stateful_set.metadata.name}-{ordinal}"


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    """The labels by which a member is found."""
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


def has_identity(pod: Pod, ordinal: int) -> bool:
    """Whether the pod carries its identity."""
    return carried(pod.metadata.labels, identity_labels(pod.metadata.name, ordinal))


def new_pod(stateful_set: StatefulSet, revision: ControllerRevision, ordinal: int) -> dict[str, Any]:
    """The member with this ordinal, from the template of a revision.

    It refers to the claims of `volumeClaimTemplates` by the names that Kubernetes gives them.
    """
    meta, name = stateful_set.metadata, pod_name(stateful_set, ordinal)
    template = template_of(revision)
    given = template.get("metadata") or {}
    labels = {
        **(given.get("labels") or {}),
        REVISION_HASH: revision.metadata.name,
        **identity_labels(name, ordinal),
    }
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": meta.namespace,
        "labels": labels,
        "ownerReferences": [controller_reference(STATEFULSETS, meta)],
    }
    metadata |= {key: given[key] for key in ("annotations", "finalizers") if given.get(key)}
    spec = {**(template.get("spec") or {}), "hostname": name}
    if stateful_set.spec.service_name:
        spec["subdomain"] = stateful_set.spec.service_name
    if claims := _claim_volumes(stateful_set, name):
        others = [one for one in spec.get("volumes") or [] if one.get("name") not in claims]
        spec["volumes"] = [*claims.values(), *others]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def new_claims(stateful_set: StatefulSet, ordinal: int) -> list[dict[str, Any]]:
    """The claims of the member with this ordinal; they outlive it."""
    pod, labels = pod_name(stateful_set, ordinal), stateful_set.spec.selector.match_labels
    made = []
    for template in stateful_set.spec.volume_claim_templates:
        given = template.get("metadata") or {}
        metadata = {
            "name": f"{given.get('name', '')}-{pod}",
            "labels": {**(given.get("labels") or {}), **labels},
        }
        if given.get("annotations"):
            metadata["annotations"] = given["annotations"]
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        made.append({**claim, "spec": template.get("spec") or {}})
    return made


def _claim_volumes(stateful_set: StatefulSet, pod: str) -> dict[str, dict[str, Any]]:
    names = [(one.get("metadata") or {}).get("name", "") for one in stateful_set.spec.volume_claim_templates]
    return {
        name: {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}", "readOnly": False}}
        for name in names
    }
