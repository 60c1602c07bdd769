"""`vacate install` and `vacate uninstall`."""
