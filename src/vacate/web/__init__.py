"""`vacate web`: drains, requests and what holds them, as pages that stay up to date."""
