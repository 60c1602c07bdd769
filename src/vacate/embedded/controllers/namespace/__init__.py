"""Empties namespaces that are on their way out."""
