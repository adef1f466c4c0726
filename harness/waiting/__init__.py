"""How long the harness waits for a server, whether anything can still happen."""
