"""File formats: zip archives, weights, safetensors and pickled examples, all read without trust.

May be imported by `saving`, `loading` and `inspecting`; of programs, nothing is known here.
"""
