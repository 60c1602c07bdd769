"""A node that runs short of memory or disk ends pods, one at a time, until it is well again."""
