"""Which pods `vacate delete` means: kubectl's `TYPE NAME…`, of which only pods and nodes can be deleted."""

from __future__ import annotations

import click

from vacate.api import kinds
from vacate.api.kinds import NODES, PODS, Kind
from vacate.cli.common.parameters import pod_name

POD_TYPES = ("pod", "pods", "po")
NODE_TYPES = ("node", "nodes", "no")
# Types of every cluster that Vacate itself never reads.
_MORE_TYPES = (
    "service", "services", "svc", "endpoints", "ep", "endpointslice", "endpointslices", "ingress",
    "ingresses", "ing", "networkpolicy", "networkpolicies", "netpol", "secret", "secrets",
    "replicationcontroller", "replicationcontrollers", "rc", "resourcequota", "resourcequotas", "quota",
    "limitrange", "limitranges", "volumeattachment", "volumeattachments", "customresourcedefinition",
    "customresourcedefinitions", "crd", "crds",
)  # fmt: skip


def _words(kind: Kind) -> tuple[str, ...]:
    qualified = (f"{kind.singular}.{kind.group}", kind.resource) if kind.group else ()
    return kind.singular, kind.plural, *kind.short_names, *qualified


_KNOWN = [one for one in vars(kinds).values() if isinstance(one, Kind) and one not in (PODS, NODES)]
_OTHER_TYPES = frozenset([*_MORE_TYPES, *(word for kind in _KNOWN for word in _words(kind))])


def chosen_pods(names: tuple[str, ...]) -> tuple[str, ...]:
    """The pods, after an optional `pod`; UsageError where the first word is another type of object.

    A single name is always a pod: `vacate delete job` deletes the pod job.
    """
    if names and names[0] in POD_TYPES:
        return tuple(dict.fromkeys(map(pod_name, names[1:])))
    if len(names) > 1 and names[0] in _OTHER_TYPES:
        raise click.UsageError(
            f"only pods and nodes can be deleted here, and {names[0]!r} is neither; write vacate delete pod "
            f"NAME or vacate delete node NAME. For a pod that is called {names[0]}, write pod/{names[0]}."
        )
    return tuple(dict.fromkeys(map(pod_name, names)))
