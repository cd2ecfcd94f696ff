"""The programs of PyTorch's documents on data-dependent values, as they stand there."""

import torch

from tests.data.registry import data


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
