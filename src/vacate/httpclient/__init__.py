"""Calls to HTTP services that others run: bounded in time and size, without redirects, proxies or cookies."""
