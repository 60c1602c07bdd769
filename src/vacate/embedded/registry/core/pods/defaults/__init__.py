"""What a pod is given where its author says nothing."""
