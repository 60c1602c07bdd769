"""Whether an owner that keeps a pod from being evicted is what the pod says, by a look at the API server.

Owner references and annotations are written by a pod's author. A reference to a DaemonSet, or the mark of a
mirror pod, counts only while the object that it names has that UID. Where that cannot be found out, because
the server does not serve the kind or this account may not read it, the reference counts as it stands: a pod
of a DaemonSet that is evicted by mistake would come back at once, for ever.
"""

from __future__ import annotations

from vacate.api.kinds import NODES, Kind
from vacate.api.objectidentity import identity_of
from vacate.api.types import Pod
from vacate.client.client import Client
from vacate.errors import Forbidden, NotFound
from vacate.eviction.records.reader import is_daemon_set

DAEMONSETS = Kind("apps", "v1", "DaemonSet", "daemonsets", "daemonset", namespaced=True)


async def owner_exists(client: Client, pod: Pod) -> bool:
    """Whether the pod's controlling owner, a DaemonSet or a Node, exists with the UID of the reference."""
    owner = pod.metadata.controller
    if owner is None:
        return False
    daemon_set = is_daemon_set(owner)
    kind, namespace = (DAEMONSETS, pod.metadata.namespace) if daemon_set else (NODES, "")
    try:
        found = await client.get(kind, owner.name, namespace)
    except NotFound as error:
        return not error.details.get("name")  # the kind is not served here
    except Forbidden:
        return True
    return identity_of(found).uid == owner.uid
