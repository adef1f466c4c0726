"""Makes the fixtures of harness/plugin.py known to the claims."""

pytest_plugins = ["harness.plugin"]
