"""Source generation: a program as one Python file that people read, run and step through."""
