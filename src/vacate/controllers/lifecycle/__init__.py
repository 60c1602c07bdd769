"""EvictionRequests of lifecycle.k8s.io: assembled into one Eviction for each pod, whose outcome they have.

The Eviction's own progress is the work of `controllers.eviction`, as for every API.
"""
