"""A refusal of sides that cannot be one names both assignments, with their lines."""

import pytest
from torch import nn

import monograph
from tests.control_flow.branching import UP, Function


def text_by_branch(x):
    """A text differs."""
    mode = "plain"
    if x.sum() > 0:
        mode = "up"
    return x, mode


def dtype_by_branch(x):
    """One side converts."""
    y = x
    if x.sum() > 0:
        y = x.double()
    return y * 2


def rank_by_branch(x):
    """One side has one more dimension."""
    if x.sum() > 0:
        y = x[None]
    else:
        y = x
    return y * 2


def none_by_branch(x):
    """One side leaves nothing."""
    y = None
    if x.sum() > 0:
        y = x
    return y


def results_by_branch(x):
    """Either returns something else."""
    if x.sum() > 0:
        return x, x
    return x


def expression_by_branch(x):
    """No variable has a name for it."""
    return x, ("up" if x.sum() > 0 else 2)


def item_by_branch(x):
    """What differs is in a tuple."""
    pair = (x, "a")
    if x.sum() > 0:
        pair = (x, "b")
    return pair


def length_by_branch(x):
    """Both make a list longer, unlike."""
    found = [x]
    if x.sum() > 0:
        found.append(x + 1)
    else:
        found.extend([x, x])
    return found


def length_on_one_side(x):
    """One side makes a list longer."""
    found = [x]
    if x.sum() > 0:
        found.append(x + 1)
    return found


@pytest.mark.parametrize(
    ("forward", "name", "places"),
    [
        (text_by_branch, "`mode`", ["mode =|`'up'`", "mode =|`'plain'`"]),
        (dtype_by_branch, "dtype of `y`", ["y =|torch.float64", "y = x|torch.float32"]),
        (rank_by_branch, "rank of `y`", ["y = x[None]|2,", "y = x|1,"]),
        (none_by_branch, "`y`", ["y = x|a tensor float32[3]", "y = None|`None`"]),
        (results_by_branch, "what they return", ["return x, x|a tuple", "return x|a tensor"]),
        (expression_by_branch, "what they give", ["'up'", "`2`"]),
        (item_by_branch, "`pair[...]`", ["(x, 'b')|`'b'`", "(x, 'a')|`'a'`"]),
        (length_by_branch, "found", ["found.append|changed here", "found.extend|and here"]),
        (length_on_one_side, "found", ["found.append|changed", "if x.sum|as it was"]),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_both_are_named(forward, name, places):
    """The variable, the condition, and what either side leaves there."""
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Function(forward), (UP,))
    diagnostic = caught.value.diagnostic
    assert name in diagnostic.headline
    text = str(caught.value).replace('"', "'")
    if diagnostic.name == "branches-disagree":
        assert "x.sum() > 0" in text
    for place in places:
        line, _, label = place.partition("|")
        assert line in text
        assert label in text


def test_places_of_a_method():
    """The lines are those of the function that the condition is in."""

    class Model(nn.Module):
        def pick(self, x):
            if x.sum() > 0:
                return "big"
            return 3

        def forward(self, x):
            return x, self.pick(x)

    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Model(), (UP,))
    labels = [cause.label for cause in caught.value.diagnostic.causes]
    assert labels == ["`'big'`, when it is true", "`3`, when it is false"]
    lines = [cause.at[0].line for cause in caught.value.diagnostic.causes]
    assert lines[1] - lines[0] == 1


def test_a_parameter_that_one_side_leaves():
    """It was given where the function begins."""

    def forward(x, mode="plain"):
        if x.sum() > 0:
            mode = "up"
        return x, mode

    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Function(forward), (UP,))
    one, other = caught.value.diagnostic.causes
    assert one.at[0].line - other.at[0].line == 2
