"""The random numbers of tests: a seed for the processor's generator alone.

`torch.manual_seed` also keeps the call stack, as text, for each kind of device that is not there:
0.6 ms under pytest, and nearly a third of what all tests cost together. What tests draw comes from
the processor's generator, which gives the same numbers after either.
"""

import torch


def reseed(number: int) -> None:
    """Let PyTorch draw from here on what it draws after `torch.manual_seed(number)`."""
    torch.default_generator.manual_seed(number)
