"""Random requests to two servers, the embedded one and a real one, and the comparison of their answers."""
