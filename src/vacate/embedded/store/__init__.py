"""The log of revisions: state in memory, one writer, watchers fed after the commit."""
