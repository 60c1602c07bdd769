"""One module for each page: what the caches hold, as a tree of elements. Pure."""
