"""For authors of interceptors: handlers, turns, heartbeats, reports."""
