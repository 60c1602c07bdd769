"""Runs pods until enough of them have succeeded, or too many have failed."""
