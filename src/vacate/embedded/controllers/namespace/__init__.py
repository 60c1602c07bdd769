"""Empties namespaces that are terminating."""
