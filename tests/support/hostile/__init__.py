"""Hostile requests, objects, bytes and connections."""
