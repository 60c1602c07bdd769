"""What the embedded server knows about each kind it serves, one folder per API group."""
