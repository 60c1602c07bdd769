"""The containers of held pods: how they are started, probed and ended."""
