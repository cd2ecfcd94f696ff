"""The programs of PyTorch's documents on data-dependent values, as they stand there.

`PLACES` lists every one of them by document and heading, with the program here that holds it; a few
that stand in a document twice are one here.
"""

import torch
from torch._higher_order_ops.map import map as torch_map

from tests.data.registry import data

TUTORIAL = "torch.export Tutorial"
DEBUGGING = "Debugging Export"
PLACES = {
    (TUTORIAL, "Graph Breaks", "Bad1"): "branch_on_a_sum",
    (TUTORIAL, "Control Flow Ops", "Bad1Fixed"): "cond_on_a_sum",
    (TUTORIAL, "Control Flow Ops", "MapModule"): "map_over_rows",
    (TUTORIAL, "Data-dependent errors", "Foo"): "values_returned",
    (TUTORIAL, "Guards, torch._check()", "a // 2 >= 5"): "branch_without_a_check",
    (TUTORIAL, "Guards, torch._check()", "a >= 10"): "branch_after_a_check",
    (TUTORIAL, "Guards, torch._check()", "a >= 10 alone"): "branch_after_one_check",
    (TUTORIAL, "Guards, torch._check()", "a == 4"): "branch_after_an_equality",
    (TUTORIAL, "Guards, torch._check()", "y[a]"): "index_without_a_check",
    (TUTORIAL, "Guards, torch._check()", "y[a], checked"): "index_with_checks",
    (TUTORIAL, "Specialized values", "range(a)"): "list_comprehension",
    (TUTORIAL, "Specialized values", "range(a), a checked"): "list_comprehension_checked",
    (TUTORIAL, "Specialized values", "repeat(a, 1)"): "repeated",
    (TUTORIAL, "ExportDB", "cond_predicate"): "cond_on_a_size",
    (DEBUGGING, "Common Shape Issues", "x[:10]"): "first_ten_if_more",
    (DEBUGGING, "Common Shape Issues", "x[:n], n clamped"): "first_ten_by_clamp",
    (DEBUGGING, "Control Flow", "if x.sum() > 0"): "branch_or_unchanged",
    (DEBUGGING, "Control Flow", "Option 1: cond"): "cond_or_unchanged",
    (DEBUGGING, "Control Flow", "Option 2: where"): "where_or_unchanged",
}


def number_and_list(k):
    """Give a number and two numbers."""
    return torch.randint(-9, 9, ()), torch.randint(-9, 9, (2,))


def number_and_vector(k):
    """Give a number and a vector of 60."""
    a = 32 if not k else 0 if k == 1 else 59 if k == 2 else int(torch.randint(0, 70, ()))
    return torch.tensor(a), torch.randn(60)


def large(k):
    """As `number_and_vector`; all numbers from 10 to 60."""
    return torch.randint(10, 61, ()), torch.randn(60)


@data(number_and_list)
def values_returned(x, y):
    """`item` and `tolist`."""
    a = x.item()
    b = y.tolist()
    return [*b, a]


@data(number_and_vector, refused="data-dependent-size")
def branch_without_a_check(x, y):
    """Nothing says which side."""
    a = x.item()
    if a // 2 >= 5:
        return y + 2
    return y * 5


@data(large)
def branch_after_a_check(x, y):
    """The check says which side."""
    a = x.item()
    torch._check(a >= 10)
    torch._check(a <= 60)
    if a // 2 >= 5:
        return y + 2
    return y * 5


@data(number_and_vector)
def branch_after_an_equality(x, y):
    """The check fixes the number."""
    a = x.item()
    torch._check(a == 4)
    if a // 2 >= 5:
        return y + 2
    return y * 5


@data(number_and_vector)
def index_without_a_check(x, y):
    """Out of range is an error at run time, as in eager."""
    a = x.item()
    return y[a]


@data(number_and_vector)
def index_with_checks(x, y):
    """In range, as checked."""
    a = x.item()
    torch._check(a >= 0)
    torch._check(a < y.shape[0])
    return y[a]


@data(number_and_vector, refused="specialized-value")
def list_comprehension(x, y):
    """How many parts there are depends on data."""
    a = x.item()
    b = torch.cat([y for _ in range(a)], dim=0)
    return b + int(a)


@data(number_and_vector)
def repeated(x, y):
    """The document's rewrite of the list comprehension."""
    a = x.item()
    b = y.unsqueeze(0).repeat(a, 1)
    return b + a


@data(number_and_vector)
def list_comprehension_checked(x, y):
    """A check fixes how many parts there are."""
    a = x.item()
    torch._check(a == 3)
    b = torch.cat([y for _ in range(a)], dim=0)
    return b + int(a)


@data(lambda k: (torch.randn(3, 3),), refused="data-dependent-branch")
def branch_on_a_sum(x):
    """The bad example of the troubleshooting page."""
    if x.sum() > 0:
        return x.sin()
    return x.cos()


@data(lambda k: (torch.randn(3, 3),))
def where_on_a_sum(x):
    """Its repair."""
    return torch.where(x.sum() > 0, x.sin(), x.cos())


@data(lambda k: (torch.randn(3, 3),))
def cond_on_a_sum(x):
    """Its other repair."""

    def true_fn(x):
        return torch.sin(x)

    def false_fn(x):
        return torch.cos(x)

    return torch.cond(x.sum() > 0, true_fn, false_fn, [x])


@data(lambda k: (torch.randn(6, 4), torch.randint(9, ()), torch.randint(9, ())))
def map_over_rows(xs, y, z):
    """A function of each row."""

    def body(x, y, z):
        return x + y + z

    return torch_map(body, xs, y, z)


@data(large)
def branch_after_one_check(x, y):
    """The text says that the lower bound is enough."""
    a = x.item()
    torch._check(a >= 10)
    if a // 2 >= 5:
        return y + 2
    return y * 5


@data(lambda k: (torch.randn(2, 3, 12),))
def cond_on_a_size(x):
    """The condition is a plain truth."""
    pred = x.dim() > 2 and x.shape[2] > 10
    return torch.cond(pred, lambda x: x.cos(), lambda y: y.sin(), [x])


def _longer_than_ten(k):
    return (torch.randn(12 if not k else 11 + 3 * k, 2),)


def _any_length(k):
    return (torch.randn(12 if not k else 0 if k == 1 else 2 * k, 2),)


@data(_longer_than_ten, shapes=lambda dim: {"x": {0: dim("n", min=11)}})
def first_ten_if_more(x):
    """Bad there, as the branch fixes a side: here it narrows the declared range."""
    if x.size(0) > 10:
        return x[:10]
    return x


@data(_any_length, shapes=lambda dim: {"x": {0: dim("n", min=0)}})
def first_ten_by_clamp(x):
    """Its repair."""
    n = torch.clamp(torch.tensor(x.size(0)), max=10)
    return x[:n]


@data(lambda k: (torch.randn(3, 3),), refused="data-dependent-branch")
def branch_or_unchanged(x):
    """The bad example of the guide."""
    if x.sum() > 0:
        return x * 2
    return x


@data(lambda k: (torch.randn(3, 3),))
def cond_or_unchanged(x):
    """Option 1."""
    return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x.clone(), (x,))


@data(lambda k: (torch.randn(3, 3),))
def where_or_unchanged(x):
    """Option 2."""
    return torch.where(x.sum() > 0, x * 2, x)
