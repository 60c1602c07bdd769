"""Objects, steps and checks for tests in a simulated cluster, by what they are about."""
