"""What users say about numbers with `torch._check`, and what follows from it."""

import torch

from tests.data.registry import any_integer, count, data, variants, vector_and_count


def two(k):
    """Give x: [8] and two numbers in [0, 8]."""
    return torch.randn(8), torch.tensor([count(k, 8), count(k, 8)] if k else [3, 5])


@data(vector_and_count)
def comparison(x, n):
    """A lower bound decides a branch."""
    a = n.item()
    torch._check(a >= 0)
    return x[:a] if a >= 0 else x


@data(any_integer)
def comparison_fails(x, n):
    """Eager raises where the check does not hold, and so does the program."""
    a = n.item()
    torch._check(a > 0, lambda: f"a must be positive, got {a}")
    return x * 2 if a > 0 else x


@data(any_integer)
def both_bounds(x, n):
    """A range."""
    a = n.item()
    torch._check(a >= -5)
    torch._check(a <= 5)
    if a < -5 or a > 5:
        return x
    return x * a


@data(any_integer)
def equality_with_a_number(x, n):
    """A check that fixes the number."""
    a = n.item()
    torch._check(a == 3)
    return torch.zeros(a) if a == 3 else x


@data(any_integer)
def equality_makes_plain(x, n):
    """What a check fixes may be counted to."""
    a = n.item()
    torch._check(a == 3)
    return [x * i for i in range(a)]


@data(vector_and_count, shapes=lambda dim: {"x": [dim("m", min=0)], "n": None})
def equality_with_a_size(x, n):
    """A check that ties the number to a size."""
    a = n.item()
    torch._check(a == x.shape[0])
    return torch.zeros(a) + x


@data(any_integer)
def divisible(x, n):
    """Divisibility makes a view possible."""
    a = n.item()
    torch._check(a >= 0)
    torch._check(a % 4 == 0)
    return torch.zeros(a).view(-1, 4).sum(0), torch.ones(a // 4, 4).reshape(a)


@data(any_integer)
def conjunction(x, n):
    """Two conditions in one check."""
    a = n.item()
    torch._check((a >= 0) & (a <= 8))
    return x.narrow(0, 0, a)


@data(any_integer)
def conjunction_in_python(x, n):
    """Two conditions joined by `and`, which asks the first."""
    a = n.item()
    torch._check(a >= 0)
    torch._check(a >= 0 and x.shape[0] == 8)
    return x[:a]


@data(any_integer)
def product_of_itself(x, n):
    """A product: the second opinion decides."""
    a = n.item()
    torch._check(a * a - 3 * a <= 10)
    return x * 2 if a <= 5 else x


@data(any_integer)
def square(x, n):
    """The document's expression, asked again."""
    a = n.item()
    torch._check(a**2 - 3 * a <= 10)
    return x * 2 if a**2 - 3 * a <= 10 else x


@data(two)
def product_of_two(x, n):
    """The number of elements of a view."""
    a, b = n.tolist()
    torch._check(a * b == 8)
    torch._check(a > 0)
    return x.view(a, b)


@data(two)
def ordered(x, n):
    """One number is at most another."""
    a, b = n.tolist()
    torch._check(a <= b)
    torch._check(b <= x.shape[0])
    torch._check(a >= 0)
    return x.narrow(0, a, b - a), x[a:b]


@data(two)
def sum_of_two(x, n):
    """A sum that fits."""
    a, b = n.tolist()
    torch._check(a + b == 8)
    first, second = x.split([a, b])
    return torch.cat([second, first])


@data(vector_and_count)
def is_size(x, n):
    """`_check_is_size` says that it is not negative."""
    a = n.item()
    torch._check_is_size(a)
    return torch.zeros(a), x if a >= 0 else x * 2


@data(vector_and_count)
def is_size_with_bound(x, n):
    """`_check_is_size` with a greatest value."""
    a = n.item()
    torch._check_is_size(a, max=8)
    return x.narrow(0, 0, a)


@data(any_integer)
def check_with(x, n):
    """`_check_with` takes the kind of error."""
    a = n.item()
    torch._check_with(ValueError, a >= 0, lambda: "negative")
    return x[:a] * 2 if a >= 0 else x


@data(any_integer)
def check_value(x, n):
    """`_check_value` raises a ValueError."""
    a = n.item()
    torch._check_value(a != 0, lambda: "zero")
    return x / a if a != 0 else x


@data(any_integer)
def check_index(x, n):
    """`_check_index` raises an IndexError."""
    a = n.item()
    torch._check_index(a < 8)
    return x[:a]


@data(any_integer)
def asserted_number(x, n):
    """Python's assert is a check too, where it is about a number."""
    a = n.item()
    torch._check(a > 0)
    assert a > 0
    return x * a


@data(any_integer)
def checked_tensor(x, n):
    """Everything of a tensor, checked."""
    torch._check_tensor_all(x < 100)
    return x * n


@data(any_integer)
def tensor_asserted(x, n):
    """`torch._assert_async` on data."""
    torch._assert_async((x < 100).all())
    return x * n


@data(any_integer)
def inequality(x, n):
    """Everything but one number."""
    a = n.item()
    torch._check(a != 1)
    return x * 2 if a == 1 else x * 3


@data(any_integer)
def halves(x, n):
    """A quotient, asked for after a bound."""
    a = n.item()
    torch._check(a >= 10)
    return x + 2 if a // 2 >= 5 else x * 5


@data(any_integer)
def remainder_asked(x, n):
    """A remainder is in its range."""
    a = n.item()
    r = a % 8
    return x[r] if r >= 0 else x


@data(any_integer)
def clamped_by_python(x, n):
    """A number between two bounds is in range."""
    a = torch.sym_max(torch.sym_min(n.item(), 7), 0)
    return x[a] if a < 8 else x


@data(any_integer)
def disjunction(x, n):
    """One of two numbers."""
    a = n.item()
    torch._check((a == 3) | (a == 5))
    return x * a if a >= 3 else x


@data(vector_and_count)
def counted_mask(x, n):
    """A count of a mask is checked against a size."""
    m = torch.arange(8) < n
    a = m.sum().item()
    torch._check(a <= 8)
    return x[m] + x.narrow(0, 0, a)


@data(vector_and_count)
def of_a_mask(x, n):
    """How many are selected, checked before it is used."""
    y = x[torch.arange(8) < n]
    torch._check(y.shape[0] >= 0)
    torch._check(y.shape[0] <= 8)
    return y if y.shape[0] <= 8 else x


@data(any_integer)
def float_checked(x, n):
    """A float, checked."""
    s = (n * 0.5).item()
    torch._check(s >= 0)
    return x * s


@data(any_integer)
def bool_checked(x, n):
    """A truth, checked."""
    torch._check((n >= 0).item())
    return x * n


variants(
    any_integer,
    {
        "contradiction": lambda x, n: _checks(x, n, lambda a: a > 5, lambda a: a < 3),
        "contradiction_of_equalities": lambda x, n: _checks(
            x, n, lambda a: a == 2, lambda a: a == 3
        ),
        "contradiction_of_parity": lambda x, n: _checks(
            x, n, lambda a: a % 2 == 0, lambda a: a == 7
        ),
        "contradiction_in_product": lambda x, n: _checks(
            x, n, lambda a: a * a <= 10, lambda a: a >= 5
        ),
    },
    refused="check-fails",
)


def _checks(x, n, *conditions):
    a = n.item()
    for condition in conditions:
        torch._check(condition(a))
    return x * a
