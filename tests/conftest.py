"""Fixtures for every suite. The environment was already cleaned by tests/environment.py."""

import os

from hypothesis import HealthCheck, settings

# The settings have been read by now. A process that a test starts must find its own project.
os.environ.pop("PINBOX_PROJECT", None)

# How long one example takes says something of the machine, nothing of the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
