"""Pins for any agent that speaks MCP: the same tools and resources over stdio and over HTTP.

Everything here needs the extra `mcp`, and nothing else of the hub imports it at module level. The
modules know no Django, but for `http`, which is the hub's own.
"""
