"""Specialisation at sizes 0 and 1: which of them a program can take after all."""
