"""From bytes to a call: address, options, body."""
