"""The parent of all containers of one agent: a small process that outlives the agent.

It imports the standard library only, and little of it, because one runs for every agent. A container is its
direct child, so that exit codes are never lost while the agent is away; it is a sub-reaper, so that daemons
which a container leaves behind are its children too and can be found.
"""
