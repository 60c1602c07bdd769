"""PURE. What a NodeMaintenance does next: given its spec, nodes, pods, requests and the time.

`pods` says which pods are evicted and which hold the drain, `turns` which nodes may be drained now, `claims`
what is recorded on nodes, `blockers` what holds a pod, `progress` how far it is, `nodedrain` what
happens to one node, `plan` puts it together.
"""
