"""Container runtimes: the protocol, and the one that runs containers as local processes."""
