pytest_plugins = ["vacate.testing.pytest_fixtures"]
