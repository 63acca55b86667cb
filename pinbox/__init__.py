"""Pinbox: pins from a running app to the coding agent that works in its repository.

This package is the client and the contract; it imports the standard library only.
"""

__version__ = "0.1.0"
