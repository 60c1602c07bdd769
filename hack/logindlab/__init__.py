"""A machine that can be shut down: systemd with its logind and a bus, in namespaces of its own."""
