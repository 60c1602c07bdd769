"""Which kind is shown how. A kind without an entry shows its name and when it was created."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from vacate.api import kinds
from vacate.api.ages import since
from vacate.api.columns import NAME, Column, Printer
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, name_of
from vacate.api.untyped import mapping, maps
from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.customresource import CustomResource, PrinterColumn
from vacate.embedded.apiserver.printers import (
    admission,
    autoscaling,
    batch,
    cluster,
    events,
    lifecycle,
    nodes,
    pods,
    policy,
    rbac,
    storage,
    workloads,
)

_STEP = re.compile(r'[.](\w+)(?:\[[?]\(@[.](\w+)=="([^"]*)"\)\])?')
"""A field, or the first of a list's items in which another field has a value."""


def printer_of_declaration(declaration: CustomResource) -> Printer:
    """The printer that a declaration describes."""
    columns = declaration.columns

    def cells(obj: Obj, now: dt.datetime) -> list[Any]:
        return [name_of(obj), *(_cell(column, obj, now) for column in columns)]

    shown = tuple(Column(one.name, one.description, one.type, "", one.priority) for one in columns)
    return Printer((NAME, *shown), cells)


def _cell(column: PrinterColumn, obj: Obj, now: dt.datetime) -> Any:
    if column.shown is not None:
        return column.shown(obj)
    value: Any = obj
    for name, key, wanted in _STEP.findall(column.json_path):
        value = mapping(value).get(name)
        if key:
            value = next((one for one in maps(value) if one.get(key) == wanted), None)
    return since(value, now) if column.type == "date" else value


_CREATED_AT = Column("Created At", "When the object was created.", type="date")

DEFAULT = Printer(
    (NAME, _CREATED_AT),
    lambda obj, _: [obj["metadata"].get("name", ""), obj["metadata"].get("creationTimestamp")],
)

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
    kinds.JOBS.resource: batch.JOBS,
    kinds.CRONJOBS.resource: batch.CRONJOBS,
    kinds.PODTEMPLATES.resource: batch.PODTEMPLATES,
    kinds.HORIZONTALPODAUTOSCALERS.resource: autoscaling.HORIZONTALPODAUTOSCALERS,
    kinds.PODDISRUPTIONBUDGETS.resource: policy.PODDISRUPTIONBUDGETS,
    kinds.PRIORITYCLASSES.resource: policy.PRIORITYCLASSES,
    kinds.LIFECYCLE_REQUESTS.resource: lifecycle.REQUESTS,
    kinds.LIFECYCLE_EVICTIONS.resource: lifecycle.EVICTIONS,
    kinds.PERSISTENTVOLUMES.resource: storage.PERSISTENTVOLUMES,
    kinds.PERSISTENTVOLUMECLAIMS.resource: storage.PERSISTENTVOLUMECLAIMS,
    kinds.STORAGECLASSES.resource: storage.STORAGECLASSES,
    kinds.ROLES.resource: DEFAULT,
    kinds.CLUSTERROLES.resource: DEFAULT,
    kinds.ROLEBINDINGS.resource: rbac.BINDINGS,
    kinds.CLUSTERROLEBINDINGS.resource: rbac.BINDINGS,
    kinds.VALIDATINGADMISSIONPOLICIES.resource: admission.POLICIES,
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS.resource: admission.BINDINGS,
    **{one.kind.resource: printer_of_declaration(one) for one in DECLARATIONS},
}


def printer_of(kind: Kind) -> Printer:
    """The printer of a kind."""
    return PRINTERS.get(kind.resource, DEFAULT)
