"""What several claims do to a server: exchanges, many clients, faults, and what they may cost."""
