"""The simulated loop and a whole cluster inside it."""
