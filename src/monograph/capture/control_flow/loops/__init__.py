"""Loop capture: `while` and `for` over symbolic counts, with their loop-carried state."""
