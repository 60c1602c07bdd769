"""What tests on a real control plane need: an installation, its peers, users, and the audit log."""
