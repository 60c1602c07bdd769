"""The embedded API server: one verb a file behind one `handle`."""
