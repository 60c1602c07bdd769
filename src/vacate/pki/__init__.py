"""Issuing certificates, TLS settings, and when certificates are to be renewed."""
