"""The composition of an embedded cluster: folder, certificates, server, controllers, nodes."""

SIMULATED, PROCESS = "simulated", "process"
RUNTIMES = (SIMULATED, PROCESS)
"""What pods are: here, so that the options of a command are known before the cluster is loaded."""
