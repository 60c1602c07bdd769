"""Clients of any Kubernetes API server: requests without I/O, transports, kubeconfig, watch."""
