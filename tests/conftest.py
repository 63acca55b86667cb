"""Fixtures for every suite. The environment was already cleaned by tests/environment.py."""

import os

# The settings have been read by now. A process that a test starts must find its own project.
os.environ.pop("PINBOX_PROJECT", None)
