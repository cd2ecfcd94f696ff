"""Rewrites: passes that edit a copy of a program's graph in place, one idea a file.

Users hand them to `program.transform`; each is registered under its name.
"""
