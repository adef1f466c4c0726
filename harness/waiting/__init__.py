"""How long a claim waits for a server, whether anything can still happen, and by which clock."""
