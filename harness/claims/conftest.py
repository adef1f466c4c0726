"""Makes the fixtures of harness/grading/plugin.py known to the claims."""

pytest_plugins = ["harness.grading.plugin"]
