"""The HTTP listener with its limits, health and metrics endpoints, and the certificate that is served."""
