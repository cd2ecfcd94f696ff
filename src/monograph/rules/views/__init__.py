"""View operators: other sizes and strides over the same storage, and reshape, which may copy."""
