"""What lives below an object: eviction, binding, scale."""
