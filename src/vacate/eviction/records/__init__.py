"""Requests as records, in which all APIs for evictions share: reading, patches, history and Events."""
