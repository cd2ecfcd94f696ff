"""Unflattening: the module hierarchy of the original, made again from the flat graph."""
