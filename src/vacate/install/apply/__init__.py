"""Putting the objects of an installation into a cluster, and taking them out of it."""
