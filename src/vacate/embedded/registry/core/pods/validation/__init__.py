"""What a pod may say, one part of its spec a file."""
