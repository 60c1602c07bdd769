"""PURE. Which pods stand where they should not, and which of them are evicted next.

`violations` finds them: taints, required node affinity, topology spread. `plan` decides within limits and
only for pods that another node would take. `report` makes the status of a policy. The controller and
`vacate deschedule` ask the same functions.
"""
