"""Which submissions share more than the skeleton explains: compare.py finds it, and command.py
reads the hand-ins and shows the passages."""
