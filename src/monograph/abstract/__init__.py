"""Tensors without data: their types, their layout, and what user code sees in their place."""
