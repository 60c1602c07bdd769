"""The dialect of Evacuation: its objects read into the common record, and changes written back."""
