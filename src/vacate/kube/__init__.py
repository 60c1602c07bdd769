"""PURE. Reads Kubernetes objects: eviction checks, budgets, availability, ownership, scheduling."""
