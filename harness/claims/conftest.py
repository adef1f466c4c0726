"""Makes the fixtures of harness/grade/plugin.py known to the claims."""

pytest_plugins = ["harness.grade.plugin"]
