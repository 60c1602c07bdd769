"""Registers the interceptors of Kubernetes workloads on the pods of workloads that have opted in."""
