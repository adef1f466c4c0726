"""What the kernel reports and does: a module for each of its interfaces, and no policy of ours."""
