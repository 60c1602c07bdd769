"""EvictionRequests: what may be asked, who may ask, and which steps a request may take."""
