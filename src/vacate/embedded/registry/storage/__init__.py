"""Storage: volumes, claims and classes."""
