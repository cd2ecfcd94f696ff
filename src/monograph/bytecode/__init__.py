"""An interpreter of CPython bytecode, in Python, that knows no tensors."""
