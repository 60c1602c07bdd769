"""Node agents and machines with real processes, containers and a logind."""
