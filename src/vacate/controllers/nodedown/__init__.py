"""What the pods of a node that does not report say about it."""
