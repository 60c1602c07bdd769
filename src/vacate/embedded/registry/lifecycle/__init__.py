"""The group lifecycle.k8s.io."""
