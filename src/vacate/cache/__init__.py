"""List and watch as a state machine; one writer, many readers, indexes."""
