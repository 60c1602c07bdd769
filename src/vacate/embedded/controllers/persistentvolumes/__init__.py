"""Binds claims to volumes, and keeps both while they are used."""
