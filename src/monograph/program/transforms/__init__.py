"""Transforms: programs made from programs, by rewrites, decompositions and changes of dtype."""
