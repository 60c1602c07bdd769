"""Every fault by its name, and how often it is drawn."""

from __future__ import annotations

from support.laboratory.faults import (
    controllers,
    declarations,
    gates,
    machines,
    members,
    partitions,
    people,
    store,
    volumes,
    volumeusers,
)
from support.laboratory.faults.draw import Fault

FAULTS: dict[str, tuple[Fault, int]] = {
    "node cut off from the control plane": (partitions.cut_node_off, 8),
    "all nodes cut off": (partitions.cut_all_nodes_off, 1),
    "several nodes cut off at once": (partitions.cut_rack_off, 1),
    "all agents cut off, managers not": (partitions.cut_all_agents_off, 1),
    "two nodes cut off from each other": (partitions.cut_nodes_from_each_other, 2),
    "node cut off from all peers": (partitions.cut_node_from_all_peers, 2),
    "node cut off from storage": (partitions.cut_node_from_storage, 2),
    "manager cut off": (partitions.cut_manager_off, 1),
    "controllers cut off": (partitions.cut_controllers_off, 1),
    "store unreachable": (store.store_unreachable, 2),
    "store slow": (store.store_slow, 1),
    "store full": (store.store_full, 1),
    "server crash": (store.server_crash, 2),
    "machine loses power": (machines.power_loss, 2),
    "machine shuts down": (machines.shutdown, 3),
    "agent crash": (machines.agent_crash, 3),
    "node disk full": (machines.node_disk_full, 2),
    "node disk slow": (machines.node_disk_slow, 2),
    "manager crash": (controllers.manager_crash, 2),
    "controllers crash": (controllers.controllers_crash, 1),
    "manager slow while the volume moves": (controllers.slow_manager, 2),
    "node lost and its fence agent faulty": (controllers.faulty_fence_agent, 3),
    "fence agent of another machine": (controllers.wrong_fence_agent, 1),
    "force deletion without confirmation": (people.force_without_confirming, 2),
    "pod deleted": (people.delete_pod, 2),
    "node object deleted": (people.delete_node_by_mistake, 1),
    "eviction requested": (people.request_eviction, 3),
    "request withdrawn": (people.withdraw_request, 1),
    "node drained": (people.drain_node, 2),
    "direct eviction": (people.evict_directly, 1),
    "all pods of a budget evicted at once": (people.evict_all_of_a_budget, 1),
    "node tainted": (people.taint_node, 1),
    "record of the volume removed": (volumes.remove_the_record, 1),
    "record of the volume forged": (volumes.forge_the_record, 1),
    "record removed as a pod starts": (volumes.remove_the_record_as_a_pod_starts, 1),
    "user of the volume forced from a silent node": (volumeusers.force_from_a_silent_node, 1),
    "pod beside the user of the volume unreported": (volumeusers.start_beside_unreported, 1),
    "pod comes as an unreported one has the volume": (volumeusers.come_as_an_unreported_pod_starts, 1),
}
"""Every fault with its weight."""

NODE_GIVEN_UP = "node given up that is only cut off"
STAYS = "node cut off under a pod that stays"
NO_GRACE = "member without a grace period on a node that is lost"
FAULTS_OF_PEOPLE = {
    **FAULTS,
    NODE_GIVEN_UP: (people.delete_a_lost_node, 12),
    STAYS: (partitions.cut_node_off_under_what_stays, 1),
    NO_GRACE: (members.lose_a_member_without_grace, 4),
}
"""Those of a cluster of which every namespace is guarded, as without that nobody asks about a Node."""

GATE_OPENS = "managers away as a gate opens"
NODE_DELETED = "node object of the user of the volume deleted"
_ALSO_ON_STOCK_NODES = (
    "node cut off from the control plane",
    "manager cut off",
    "server crash",
    "machine loses power",
    "machine shuts down",
    "agent crash",
    "manager crash",
    "manager slow while the volume moves",
    "pod deleted",
    "node drained",
    "record of the volume removed",
    "user of the volume forced from a silent node",
)
STOCK_FAULTS = {
    **{name: FAULTS[name] for name in _ALSO_ON_STOCK_NODES},
    GATE_OPENS: (gates.managers_away_as_a_gate_opens, 8),
    NODE_DELETED: (declarations.delete_the_node_of_the_user, 0),  # dealt once to every second seed
}
"""Those of a cluster whose nodes neither wait for exclusive volumes nor list them: pods have the gate there.

A pod that a person puts beside the user of the volume, without the gate, is not among them: a policy refuses
it.
"""
