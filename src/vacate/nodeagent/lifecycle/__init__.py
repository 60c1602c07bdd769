"""What happens to a running container: hooks, probes, and its end."""
