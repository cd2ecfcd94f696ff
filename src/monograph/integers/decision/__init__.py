"""Decision procedures: constraint propagation, bounds, proofs, and an SMT solver behind them."""
