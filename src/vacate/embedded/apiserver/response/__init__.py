"""From stored objects to bytes: objects, lists, watch frames."""
