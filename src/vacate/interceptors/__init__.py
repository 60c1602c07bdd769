"""Interceptors of Vacate itself, on top of the SDK: how Kubernetes workloads answer an eviction request."""
