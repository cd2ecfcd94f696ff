"""Decomposition: each operator replaced by what its formula is made of, until the table has none.

The table of formulas, templates of what calls became, and the walk over the graph.
"""
