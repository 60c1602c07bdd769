"""The parts of a placement: what nodes hold, what keeps a pod off a node, and which node is best."""
