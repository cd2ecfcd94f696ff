"""Example inputs become abstract ones, and what was declared of their sizes is checked."""
