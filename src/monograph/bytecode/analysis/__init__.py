"""Control-flow and data-flow analysis of one code object, on its canonical instructions."""
