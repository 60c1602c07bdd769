"""Arms: the ways in which one body of conformance cases reaches an API server."""
