"""Rolls deployments out: one replica set for each template."""
