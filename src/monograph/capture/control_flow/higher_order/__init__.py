"""Higher-order operators in user code: `cond`, `map`, `while_loop`, `scan`."""
