"""Raises Deployments for pods under eviction request, and takes that back."""
