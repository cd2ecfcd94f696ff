"""Calling a program: its guards as code, its graph as a module, and inputs written back.

Above the description of a program (`contract`, `signature`, `structure`), and below its rewriting.
"""
