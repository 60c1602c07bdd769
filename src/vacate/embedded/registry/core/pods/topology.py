"""What a pod learns of the place of its node, as the admission plugin PodTopologyLabels has it."""

from __future__ import annotations

from vacate.admission.context import Lookup
from vacate.api.kinds import NODES
from vacate.api.objects import Obj, dig
from vacate.api.untyped import child, mapping
from vacate.kube.scheduling.clusterview import REGION, ZONE


def add_topology(obj: Obj, node: str, lookup: Lookup) -> None:
    """Give a pod, or the binding of one, the zone and the region of the node, over labels of its own."""
    found = lookup(NODES, "", node) if node else None
    labels = mapping(dig(found or {}, "metadata", "labels"))
    copied = {key: labels[key] for key in (REGION, ZONE) if key in labels}
    if copied:
        child(obj, "metadata")["labels"] = {**mapping(obj["metadata"].get("labels")), **copied}
