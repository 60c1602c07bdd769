"""One verb a file: each is `async (storage, call) -> Response`."""
