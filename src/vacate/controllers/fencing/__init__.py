"""Fences unreachable nodes as FencingPolicies say: detect, decide, fence, confirm, heal.

`controller` reconciles a policy, `view` reads the caches, `attempt` carries one fence on by one step,
`recovery` brings a node back, `reports` reads which nodes report, `outagetimes` remembers since when others
do not, `reportbackoff` when the next report may be written, `events` writes Events. Whether and which node is
fenced is decided in `vacate.fencing`; what switches the machine is behind `vacate.fencing.agents`.
"""
