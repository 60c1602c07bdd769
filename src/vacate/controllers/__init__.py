"""Vacate's own controllers, for any cluster: one folder each, with `build(deps) -> Controller`."""
