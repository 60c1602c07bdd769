"""PURE. Defaults, validation and preparation of objects, one strategy for each kind."""
