"""Gives every namespace its default service account."""
