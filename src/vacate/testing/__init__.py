"""For tests, ours and those of users: builders of API objects that refuse what could never exist."""

from vacate.testing.builders import deployment, namespace, node, pdb, pod, replicaset
from vacate.testing.consistency import Impossible, check

__all__ = ["Impossible", "check", "deployment", "namespace", "node", "pdb", "pod", "replicaset"]
