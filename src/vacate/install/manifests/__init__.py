"""The objects of an installation, rendered from one `Settings`."""
