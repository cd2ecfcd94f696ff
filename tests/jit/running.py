"""Runs a program in eager code and just in time, and notes all that it did after each call."""

import contextlib
import copy
import dataclasses
import enum
import io
import random
import warnings

import numpy as np
import torch

from tests.jit import programs


def plain(value, seen=None):
    """A value as data that `==` compares: tensors by all that they are."""
    if isinstance(value, torch.Tensor):
        data = value.detach().clone()
        if data.is_floating_point():
            data = data.double().nan_to_num(12345.0)
        kind = type(value).__name__
        return (
            kind,
            value.dtype,
            tuple(value.shape),
            value.stride(),
            value.requires_grad,
            data.tolist(),
        )
    if isinstance(value, list | tuple):
        return (type(value).__name__, [plain(each) for each in value])
    if isinstance(value, dict):
        return (type(value).__name__, [(key, plain(each)) for key, each in value.items()])
    if isinstance(value, np.ndarray | np.generic):
        return ("array", value.tolist())
    if isinstance(value, enum.Enum) or dataclasses.is_dataclass(value):
        return str(value)
    if isinstance(value, BaseException):
        return (type(value).__name__, str(value))
    return value


def aliases(args, result):
    """Which results are the arguments themselves."""
    flat = lambda v: [x for each in v for x in flat(each)] if isinstance(v, list | tuple) else [v]
    given = [id(each) for each in flat(args)]
    return [given.index(id(each)) if id(each) in given else -1 for each in flat(result)]


def run(make, wrap):
    """Make a program and call it; what each call gave, printed, and left behind."""
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    programs.SEEN.clear()
    programs.COUNT = 0
    programs.SCALE = 2.0
    made = make()
    function, calls, state = made if len(made) == 3 else (*made, lambda: None)
    wrapped = wrap(function)
    seen = []
    for args in calls:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = wrapped(*args)
            except Exception as error:
                result = error
        seen.append(
            {
                "result": plain(copy.copy(result)),
                "arguments": plain(args),
                "printed": printed.getvalue(),
                "state": plain(state()),
                "aliases": aliases(args, result),
                "random": (torch.rand(()).item(), random.random(), float(np.random.rand())),
                "grad": torch.is_grad_enabled(),
            }
        )
    return seen


def quiet(function, *args):
    """Call without warnings of the cache limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)
