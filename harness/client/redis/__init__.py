"""Programs that others wrote for the protocol of Redis: which are here, and how one is run."""
