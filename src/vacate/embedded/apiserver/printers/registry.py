"""Which kind is shown how. A kind without an entry shows its name and when it was created."""

from __future__ import annotations

import datetime as dt
import re
from functools import partial
from typing import Any

from vacate.api import kinds
from vacate.api.ages import since
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, maps
from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.customresource import CustomResource, PrinterColumn
from vacate.embedded.apiserver.printers import cluster, events, lifecycle, nodes, pods, storage, workloads
from vacate.embedded.apiserver.printers.columns import NAME, Column, Printer, field

_STEP = re.compile(r'[.](\w+)(?:\[[?]\(@[.](\w+)=="([^"]*)"\)\])?')
"""A field, or the first of a list's items in which another field has a value."""


def printer_of_declaration(declaration: CustomResource) -> Printer:
    """The printer that a declaration describes."""
    return Printer(
        NAME,
        *(
            Column(one.name, one.description, partial(_cell, one), one.type, "", one.priority)
            for one in declaration.columns
        ),
    )


def _cell(column: PrinterColumn, obj: Obj, now: dt.datetime) -> Any:
    if column.shown is not None:
        return column.shown(obj)
    value: Any = obj
    for name, key, wanted in _STEP.findall(column.json_path):
        value = mapping(value).get(name)
        if key:
            value = next((one for one in maps(value) if one.get(key) == wanted), None)
    return since(value, now) if column.type == "date" else value


_CREATED = field("metadata", "creationTimestamp", default=None)
DEFAULT = Printer(NAME, Column("Created At", "When the object was created.", _CREATED, "date"))

PRINTERS: dict[str, Printer] = {
    kinds.PODS.resource: pods.PODS,
    kinds.NODES.resource: nodes.NODES,
    kinds.EVENTS.resource: events.EVENTS,
    kinds.NAMESPACES.resource: cluster.NAMESPACES,
    kinds.CONFIGMAPS.resource: cluster.CONFIGMAPS,
    kinds.SECRETS.resource: cluster.SECRETS,
    kinds.SERVICEACCOUNTS.resource: cluster.SERVICEACCOUNTS,
    kinds.LEASES.resource: cluster.LEASES,
    kinds.DEPLOYMENTS.resource: workloads.DEPLOYMENTS,
    kinds.REPLICASETS.resource: workloads.REPLICASETS,
    kinds.STATEFULSETS.resource: workloads.STATEFULSETS,
    kinds.DAEMONSETS.resource: workloads.DAEMONSETS,
    kinds.CONTROLLERREVISIONS.resource: workloads.CONTROLLERREVISIONS,
    kinds.JOBS.resource: workloads.JOBS,
    kinds.CRONJOBS.resource: workloads.CRONJOBS,
    kinds.PODTEMPLATES.resource: workloads.PODTEMPLATES,
    kinds.HORIZONTALPODAUTOSCALERS.resource: workloads.HORIZONTALPODAUTOSCALERS,
    kinds.PODDISRUPTIONBUDGETS.resource: cluster.PODDISRUPTIONBUDGETS,
    kinds.PRIORITYCLASSES.resource: cluster.PRIORITYCLASSES,
    kinds.LIFECYCLE_REQUESTS.resource: lifecycle.REQUESTS,
    kinds.LIFECYCLE_EVICTIONS.resource: lifecycle.EVICTIONS,
    kinds.PERSISTENTVOLUMES.resource: storage.PERSISTENTVOLUMES,
    kinds.PERSISTENTVOLUMECLAIMS.resource: storage.PERSISTENTVOLUMECLAIMS,
    kinds.STORAGECLASSES.resource: storage.STORAGECLASSES,
    kinds.ROLES.resource: DEFAULT,
    kinds.CLUSTERROLES.resource: DEFAULT,
    kinds.ROLEBINDINGS.resource: cluster.ROLEBINDINGS,
    kinds.CLUSTERROLEBINDINGS.resource: cluster.ROLEBINDINGS,
    kinds.VALIDATINGADMISSIONPOLICIES.resource: cluster.POLICIES,
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS.resource: cluster.POLICYBINDINGS,
    **{one.kind.resource: printer_of_declaration(one) for one in DECLARATIONS},
}


def printer_of(kind: Kind) -> Printer:
    """The printer of a kind."""
    return PRINTERS.get(kind.resource, DEFAULT)
