"""Serialisation of a program's parts as JSON: values, symbols, graphs, signatures, dataclasses.

The published schema of PT2 archives, and of what it has no place for, our own fields. Each part is
written and read in one file; nothing here knows of zip files. May be imported by what writes and
reads whole programs.
"""
