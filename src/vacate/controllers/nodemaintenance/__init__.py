"""Drains nodes: cordons them, requests the evictions of their pods, reports, and undoes it all on deletion.

`controller` reconciles, `view` reads the caches, `writes` does what was decided and takes it back, `events`
records Events. What to do is decided in `vacate.maintenance`.
"""
