"""What a DELETE does: options, preconditions, grace, finalizers."""
