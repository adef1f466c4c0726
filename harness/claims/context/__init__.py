"""What one claim is given: servers and their clients, instruments that look at them, chance."""
