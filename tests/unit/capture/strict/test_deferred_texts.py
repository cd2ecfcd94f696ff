"""Texts of sizes and data: what only people read fixes nothing, what decides is never wrong."""

# ruff: noqa: D103, T201, TRY301 - programs as users write them, named for what they do

import collections
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import json
import logging
import operator
import re
import string
import warnings

import pytest
import torch

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError

pytestmark = pytest.mark.filterwarnings("ignore")

LOG = logging.getLogger("tests.deferred_texts")
SIZES = (4, 7, 1, 0, 9, 40)
SHOWN = []
DECIDING = []


def shown(function):
    """A program whose texts nobody but people reads."""
    SHOWN.append(function)
    return function


def deciding(function):
    """A program whose result depends on a text."""
    DECIDING.append(function)
    return function


def fmt(x):
    return f"{x.shape[0]}"


def exported(function, *, strict=True):
    module = type("Module", (torch.nn.Module,), {"forward": staticmethod(function)})()
    shapes = ({0: Dim.AUTO},)
    with contextlib.redirect_stdout(io.StringIO()):
        return monograph.export(module, (torch.ones(4),), dynamic_shapes=shapes, strict=strict)


def called(function, x):
    """The result, or the kind of exception."""
    try:
        return function(x)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error


# --- what people read --------------------------------------------------------------------------


@shown
def printed(x):
    print(x.shape[0], f"{x.shape} {x.shape[0]:>5d}", [x.shape[0]], x)
    return x * 2


@shown
def unused(x):
    msg = f"tokens: {x.shape[0] / 3:.2%} {x.shape!s:>20} {x.sum()} {x.sum().item():.3f}"  # noqa: F841
    return x * 2


@shown
def logged(x):
    LOG.warning("size %d of %s", x.shape[0], x.shape)
    LOG.info(f"{x.shape} {x}")  # noqa: G004
    LOG.debug("n={}".format(x.shape[0]))  # noqa: G001, UP032
    return x * 2


@shown
def warned(x):
    warnings.warn(f"one dim of {x.shape[0]}", stacklevel=2)
    return x * 2


@shown
def checked(x):
    err = f"tokens {x.shape[0]} features {x.size()}"
    torch._check(x.shape[0] < 100, lambda: err)
    assert x.dim() == 1, f"bad {err}"
    return x * 2


@shown
def composed(x):
    text = "size " + str(x.shape[0]) + " of " + str(x.shape) + "x".join(map(str, x.shape))
    text += "%d of %s" % (x.shape[0], x.shape) + ", ".join([str(d) for d in x.shape])  # noqa: UP031
    history = [f"step {i}: {text}" for i in range(3)]
    print("\n".join(history), repr([x.shape]), {"a": text}, f"{x.shape} {x.shape[0]}")
    return x * 2


@shown
def kept_in_an_object(x):
    info = Info(x.shape[0], fmt(x))
    LOG.info("info %s", info)
    print(info, copy.deepcopy({"a": [info.text]}))
    return x * len([info.text, "a"])


@shown
def caught_and_dropped(x):
    with contextlib.suppress(ValueError):
        raise ValueError(f"n={x.shape[0]}")
    return x * (2 if isinstance(fmt(x), str) and type(fmt(x)) is str and fmt(x) else 3)


@shown
def in_a_branch(x):
    text = "none"
    if x.sum() > 2:
        text = f"big {x.shape[0]}"
        x = x * 2
    print(text)
    return x


@shown
def in_a_loop(x):
    n, text = 0, ""
    while x.sum() < 10 and n < 5:
        x = x + 1
        n += 1
        text = f"round {n} {x.sum()}"
    print(text)
    return x


@shown
def named_for_a_profiler(x):
    with torch.autograd.profiler.record_function(f"block {x.shape[0]}"):
        return x * 2


# --- what decides ------------------------------------------------------------------------------


@dataclasses.dataclass
class Info:
    size: object
    text: str = ""


class KeepingHandler(logging.Handler):
    def __init__(self, kept):
        super().__init__()
        self.kept = kept

    def emit(self, record):
        self.kept.append(record.getMessage())


@functools.lru_cache
def cached(text):
    return len(text) + (text == "4")


@deciding
def letters(x):
    text = fmt(x)
    return x * (len(text) + text.startswith("4") + (text[0] == "4") + sum(c == "4" for c in text))


@deciding
def equal(x):
    return x * (2 if fmt(x) == "4" else 3) * (5 if [fmt(x)] == ["4"] else 7)


@deciding
def contained(x):
    return x * (2 if fmt(x) in "4 or 9" else 3) * (5 if "4" in fmt(x) else 7)


@deciding
def keyed(x):
    table = {fmt(x): 1}
    table["4"] = 5
    return x * len(table) * {"4": 2, "7": 3}.get(fmt(x), 4) * (fmt(x) in {"4", "9"})


@deciding
def named(x):
    return getattr(torch, {"4": "sin"}.get(fmt(x), "cos"))(x)


@deciding
def keyword(x):
    def lengths(**words):
        return sum(len(word) + (word == "a4") for word in words)

    return x * lengths(**{f"a{x.shape[0]}": 1})


@deciding
def ordered(x):
    return x * (2 if sorted([fmt(x), "5", "6"])[1] == "5" else 3) * (5 if fmt(x) < "5" else 7)


@deciding
def matched(x):
    match fmt(x):
        case "4":
            return x
        case str():
            return x * 2
    return x * 3


@deciding
def searched(x):
    return x * (2 if re.match("4", fmt(x)) else 3)


@deciding
def remembered(x):
    return x * cached(fmt(x))


@deciding
def parsed(x):
    return x * int(fmt(x)) * float(fmt(x)) * int(fmt(x), 16)


@deciding
def serialised(x):
    return x * len(json.dumps({"n": fmt(x)})) * fmt(x).encode()[0]


@deciding
def unpacked(x):
    first, *_ = fmt(x)
    return x * (2 if first == "4" else 3)


@deciding
def raised(x):
    try:
        raise ValueError(f"n={x.shape[0]}")
    except ValueError as error:
        return x * (2 if "4" in str(error) else 3)


@deciding
def raised_with_arguments(x):
    try:
        raise KeyError(f"n={x.shape[0]}")
    except KeyError as error:
        return x * (2 if error.args[0] == "n=4" else 3)


@deciding
def compared_in_objects(x):
    return x * (2 if Info(1, fmt(x)) == Info(1, "4") else 3)


@deciding
def set_on_an_object(x):
    info = Info(1)
    setattr(info, f"k{x.shape[0]}", 3)
    return x * (2 if hasattr(info, "k4") else 3)


@deciding
def in_an_equation(x):
    return torch.einsum(f"i,i->{'i' if '4' in fmt(x) else ''}", x, x)


@deciding
def substituted(x):
    return x * (2 if string.Template("$n").substitute(n=fmt(x)) == "4" else 3)


@deciding
def counted(x):
    groups = list(itertools.groupby([fmt(x), "4"]))
    return x * collections.Counter([fmt(x), "4"])["4"] * len(groups)


@deciding
def changed_since(x):
    sizes = [x.shape[0]]
    text = f"{sizes}"
    sizes.append(2)
    return x * (2 if text == "[4]" else 3)


@deciding
def added(x):
    text = "a"
    text += fmt(x)
    return x * (2 if operator.add("c", text) + "b" == "ca4b" else 3)


@deciding
def returned(x):
    return {"x": x, "names": [f"a{x.shape[0]}"]}


@deciding
def returned_as_key(x):
    return {f"a{x.shape[0]}": x}


@deciding
def recorded_warning(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"n {x.shape[0]}", stacklevel=1)
    return x * (2 if "4" in str(caught[0].message) else 3)


@deciding
def caught_warning(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn(f"n {x.shape[0]}", stacklevel=1)
        except UserWarning as error:
            return x * (2 if "4" in str(error) else 3)
    return x


@deciding
def printed_into_memory(x):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(x.shape[0])
    file = io.StringIO()
    print(x.shape[0], file=file)
    return x * (2 if out.getvalue() == "4\n" else 3) * (5 if file.getvalue() == "4\n" else 7)


@deciding
def logged_into_memory(x):
    kept, logger = [], logging.getLogger("tests.own")
    handler = KeepingHandler(kept)
    logger.addHandler(handler)
    logger.warning("%d", x.shape[0])
    logger.removeHandler(handler)
    return x * (2 if kept[0] == "4" else 3)


@deciding
def decided_after_a_branch(x):
    text = f"a{x.shape[0]}" if x.sum() > 2 else f"b{x.shape[0]}"
    return x * 2 if text.startswith("a") else x * 3


@deciding
def decided_in_a_loop(x):
    n = 0
    while x.sum() < 10 and n < 5:
        x = x + 1
        n += 1
        if f"{n}" == "3":
            x = x * 2
    return x


@deciding
def of_data(x):
    return x * 2 if "2" in f"{x.sum()}" else x * (3 if f"{(x > 0).sum().item()}" == "2" else 5)


@pytest.mark.parametrize("function", SHOWN)
def test_shown_texts_fix_nothing(function):
    """The program takes other sizes, and gives what the function gives."""
    program = exported(function).module()
    for size in SIZES:
        x = torch.ones(size)
        with contextlib.redirect_stdout(io.StringIO()):
            torch.testing.assert_close(program(x), function(x))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", SHOWN + DECIDING)
def test_texts_are_never_wrong(function, strict):
    """The function's results, or a refusal by name."""
    try:
        program = exported(function, strict=strict).module()
    except MonographError:
        return
    for size in SIZES:
        x = torch.ones(size)
        with contextlib.redirect_stdout(io.StringIO()):
            found, expected = called(program, x), called(function, x)
        if not isinstance(found, MonographError) and "does not hold" not in str(found):
            assert type(found) is type(expected)
            if not isinstance(found, Exception):
                assert str(found) == str(expected)


def test_an_exception_says_the_examples_text():
    """What forward raises leaves the capture as it is raised in eager code."""

    def refused(x):
        raise KeyError(f"bad {x.shape}")

    with pytest.raises(KeyError, match=re.escape("bad torch.Size([4])")):
        exported(refused)


def test_prints_show_the_example(capsys):
    """What is printed during the export is what eager code prints for the example."""
    module = type("Module", (torch.nn.Module,), {"forward": staticmethod(printed)})()
    monograph.export(module, (torch.ones(4),), dynamic_shapes=({0: Dim.AUTO},))
    assert capsys.readouterr().out.startswith("4 torch.Size([4])     4 [4]")


def test_checks_name_sizes():
    """The message of a check is about the sizes of the call."""

    def checked_data(x, n):
        length = n.item()
        message = f"{length} of {x.shape[0]}"
        torch._check(length < 5, lambda: message)
        return x * length

    module = type("Module", (torch.nn.Module,), {"forward": staticmethod(checked_data)})()
    args = (torch.ones(4), torch.tensor(3))
    program = monograph.export(module, args, dynamic_shapes=({0: Dim.AUTO}, None)).module()
    with pytest.raises(Exception, match=r"of x\.shape"):
        program(torch.ones(7), torch.tensor(9))
