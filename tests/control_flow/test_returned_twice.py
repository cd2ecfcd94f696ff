"""Callers can tell whether two tensors are one: the program's are as eager's, or it is refused."""

import copy

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


def other_name_where_another_side_writes(x):
    """One side writes, the other gives the tensor another name."""
    a, b = x + 1, x + 2
    if x.sum() > 0:
        a.add_(1)
    else:
        b = a
    return a, b


def other_name_beside_the_write(x):
    """One side does both."""
    a, b = x + 1, x + 2
    if x.sum() > 0:
        a.add_(1)
        b = a
    return a, b


def parts_of_what_is_written(x):
    """Each side gives another part of a tensor that one of them writes to."""
    a = x + 1
    if x.sum() > 0:
        a.add_(1)
        b = a[0]
    else:
        b = a[1]
    return a, b


def a_column(x):
    """A part with gaps, or a tensor of its own."""
    a = x + 1
    b = a[:, 0] if x.sum() > 0 else x.sum(1)
    return a, b


def through_another_if(x):
    """A side of a side."""
    a, b = x + 1, x + 2
    if x.sum() > 0:
        if x.sum() > 3:
            a.add_(1)
            b = a
        else:
            b = b * 2
    return a, b


def written_state(x, self):
    """A buffer, which callers see."""
    y = x * 2
    if x.sum() > 0:
        self.seen.add_(1)
        y = self.seen
    return y


def one_of_them_returned(x):
    """Nobody can tell."""
    a = x + 1
    if x.sum() > 0:
        a.add_(1)
        b = a
    else:
        b = x
    return b


def one_all_along(x):
    """Both names are older than the condition."""
    a = x + 1
    b = a
    if x.sum() > 0:
        a.add_(1)
    return a, b


def used_and_not_returned(x):
    """What is computed from the copy is no part of it."""
    a, b = x + 1, x + 2
    if x.sum() > 0:
        a.add_(1)
        b = a
    return a, b * 2


def no_write(x):
    """The copy is left out where the program runs."""
    a, b = x + 1, x + 2
    b = b * 2 if x.sum() > 0 else a
    return a, b


def an_input_beside_a_replaced_buffer(x, self):
    """The result is the argument itself on one side; a buffer is replaced on a side of it."""
    if x.sum() > 0:
        if torch.isnan(x).any():
            self.seen = self.seen + 1
    else:
        x = self.seen * x
    return x


def the_input_or_a_replaced_buffer(x, self):
    """The result may be what the buffer was, which the program writes to."""
    y = x
    if x.sum() > 0:
        y = self.seen
        self.seen = self.seen + 1
    return y


def the_input_after_no_round(x):
    """A loop on a side leaves the argument itself where it takes no round."""
    y = x
    if x.sum() < 99:
        while x.sum() > 0:
            x, y = x - 1, y * 2
    return y


REFUSED = [
    other_name_where_another_side_writes,
    other_name_beside_the_write,
    parts_of_what_is_written,
    a_column,
    through_another_if,
    written_state,
]
RIGHT = [
    the_input_or_a_replaced_buffer,
    the_input_after_no_round,
    one_of_them_returned,
    one_all_along,
    used_and_not_returned,
    no_write,
    an_input_beside_a_replaced_buffer,
]


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 3))
        self.function = function

    def forward(self, x):
        if self.function.__code__.co_argcount == 1:
            return self.function(x)
        return self.function(x, self)


def which_is_which(x, results):
    """For each tensor, the first that lies in its memory."""
    tensors = [x, *(results if isinstance(results, tuple) else (results,))]
    places = [each.untyped_storage().data_ptr() for each in tensors]
    return [places.index(each) for each in places]


@pytest.mark.parametrize("function", REFUSED, ids=lambda each: each.__name__)
def test_refused(function):
    """The message stands at the `if`."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Model(function), (torch.ones(2, 3),), control_flow="capture")
    found = caught.value.diagnostic
    expected = "write-after-branch" if function is through_another_if else "branch-returns"
    assert found.name == expected
    assert found.at[0].code is function.__code__


@pytest.mark.parametrize("function", RIGHT, ids=lambda each: each.__name__)
def test_right(function):
    """Values, and which tensors are one, on either side."""
    captured = monograph.export(Model(function), (torch.ones(2, 3),))
    for of_its_own in (captured, captured.run_decompositions()):
        model, program = Model(function), copy.deepcopy(of_its_own).module()
        for x in (torch.ones(2, 3), -torch.ones(2, 3)):
            given = x.clone()
            expected, found = model(x), program(given)
            torch.testing.assert_close(found, expected)
            assert which_is_which(given, found) == which_is_which(x, expected)


def last_column(x):
    """A view of what is there, at a number that varies."""
    last = torch.zeros(3)
    for t in range(x.shape[1]):
        last = x[:, t]
    return last


def last_row_of_columns(x):
    """A view of what is gone over."""
    for row in x.transpose(0, 1):
        last = row
    return last


def a_column_by_data(x):
    """A view of what is gone over, on one side of a condition in a round."""
    found = torch.zeros(3)
    for t in range(x.shape[1]):
        if x[0, t] > 0:
            found = x[:, t]
    return found


def first_column(x):
    """A view of what is there if there is one round, a tensor of its own if there are more."""
    h = torch.zeros(3)
    for t in range(x.shape[1]):
        h = x[:, t] if t == 0 else h * 0.5 + x[:, t - 1]
    return h


COLUMNS = [last_column, last_row_of_columns, a_column_by_data, first_column]


@pytest.mark.parametrize("function", COLUMNS, ids=lambda each: each.__name__)
def test_parts_that_loops_leave(function):
    """A part with gaps is refused if callers get it, and is right if they get something else."""
    sizes = {"x": {1: monograph.Dim("n")}}
    model = Model(function)
    with pytest.raises(MonographError) as caught:
        monograph.export(model, (torch.ones(3, 5),), dynamic_shapes=sizes, control_flow="capture")
    assert caught.value.diagnostic.name == "branch-returns"
    doubled = Model(lambda x: function(x) * 2)
    program = monograph.export(doubled, (torch.ones(3, 5),), dynamic_shapes=sizes)
    for n in (1, 7):
        x = torch.randn(3, n)
        torch.testing.assert_close(program.module()(x), doubled(x))
