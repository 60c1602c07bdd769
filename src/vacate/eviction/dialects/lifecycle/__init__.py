"""The dialect of lifecycle.k8s.io: Evictions read into the common record, and changes written back."""
