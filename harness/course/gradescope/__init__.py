"""The autograder that `make gradescope` packs: its files, and the programs it starts with."""
