"""Functionalisation: storages, views and writes as values, and what autograd sees of them.

May be imported by decomposition, which drives it operator by operator.
"""
