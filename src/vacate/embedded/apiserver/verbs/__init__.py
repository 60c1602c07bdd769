"""One verb a file: each is `async (registry, call) -> Response`."""
