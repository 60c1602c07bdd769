"""The embedded cluster: a small imitation of Kubernetes in one process, for laptops, tests and simulation."""
