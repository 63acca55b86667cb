"""The verbs of `pinbox`, one module a family. Which module has which verb: `pinbox.cli.FAMILIES`.

A verb is a function: what was asked in, one answer out. It prints nothing and never exits.
"""
