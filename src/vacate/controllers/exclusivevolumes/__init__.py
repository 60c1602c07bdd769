"""Attaches volumes that are marked exclusive to one node at a time, and detaches them when that is safe.

`controller` reconciles a volume, `decision` says what its record becomes, `confirmation` whether a pod that
is gone has really ended, `gates` lets pods with the scheduling gate be scheduled, `view` reads the caches.
The record itself, and how nodes read it, is in `vacate.kube.exclusivevolumes`.
"""
