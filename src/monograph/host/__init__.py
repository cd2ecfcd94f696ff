"""Every private torch name we lean on, in one place; verified against torch 2.13.0.

Rule: a function here is short, has no logic of ours, and says which private name it wraps and why
no public one will do.
"""
