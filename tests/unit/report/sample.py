"""A model with problems of several kinds, and its reports' source."""

import random

import numpy as np
import torch

from monograph import MonographError, draft_export, export

ARGUMENTS = (torch.rand(3), torch.tensor([4, 2]))


def is_bright(x):
    """Ask a tensor for its truth, in a function of its own: <b>&amp;</b>."""
    return bool(x.sum() > 0)


class Sample(torch.nn.Module):
    def forward(self, x, y):
        if is_bright(x):
            x = x * 2
        for _ in range(int(y[0])):
            x = x + 1
        return x + np.median(x.numpy()) * random.random()


class Layer(torch.nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


def draft():
    """Give the draft of the sample."""
    return draft_export(Sample(), ARGUMENTS, control_flow="refuse")


def error():
    """Give what the sample is refused for."""
    try:
        export(Sample(), ARGUMENTS, control_flow="refuse")
    except MonographError as refused:
        return refused
    raise AssertionError


def repeated():
    """Give a draft with one line that is refused four times."""
    return draft_export(
        torch.nn.Sequential(*[Layer() for _ in range(4)]), ARGUMENTS[:1], control_flow="refuse"
    )
