"""The node agent: runs the pods bound to one node as processes of this machine, and ends them as asked."""
