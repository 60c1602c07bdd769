"""The dialect of EvictionRequest: its objects read into the process, and decisions written back."""
