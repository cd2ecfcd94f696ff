"""Changes of what is outside, read again in the same segment, and output: as in eager code.

A scenario is given what makes a function optimized, and returns all that it saw. Asserts say what
Python says: PYTEST_DONT_REWRITE.
"""

import collections
import contextlib
import functools
import io
import sys
import time

import pytest
import torch

from monograph.jit import optimize
from tests.jit import programs
from tests.jit.running import plain, quiet
from tests.raising import RAISING_FOR_DATA

SCENARIOS = {}
X = torch.ones(2, 3)


def scenario(function):
    """Enter a scenario."""
    SCENARIOS[function.__name__] = function
    return function


def tries(call, *many):
    """What each call returns or raises."""
    seen = []
    for args in many:
        try:
            seen.append(call(*args))
        except Exception as error:
            seen.append(repr(error))
    return seen


@scenario
def descriptor_append(wrap):
    kept = []

    def f(x):
        list.append(kept, 5)
        return x + 1

    c = wrap(f)
    return [c(X) for _ in range(3)], kept


@scenario
def extend_then_grow(wrap):
    kept = []

    def f(x):
        kept = [1, 2]
        kept.extend(kept)
        kept.append(3)
        return x + 1, kept

    c = wrap(f)
    return [c(X) for _ in range(3)], kept


@scenario
def extend_enumerate(wrap):
    kept = []

    def f(x):
        kept.extend(enumerate("ab"))
        kept.extend(reversed([1, 2]))
        kept.extend({"a": 1}.values())
        return x + 1

    c = wrap(f)
    return [c(X) for _ in range(3)], kept


@scenario
def set_order(wrap):
    def f(x, q):
        return x * 1, list(q), [v for v in q]

    c = wrap(f)
    a = set()
    a.add(0)
    a.add(8)
    b = set()
    b.add(8)
    b.add(0)
    return [c(X, a), c(X, b), c(X, a)]


@scenario
def key_types(wrap):
    def f(x, d):
        return x * 1, [repr(k) for k in d]

    c = wrap(f)
    return [c(X, d) for d in ({1: 2}, {True: 2}, {1.0: 2}, {0.0: 1}, {-0.0: 1})]


@scenario
def set_types(wrap):
    def f(x, d):
        return x * 1, [repr(k) for k in d]

    c = wrap(f)
    return [c(X, d) for d in ({1}, {True}, {1.0}, {0.0}, {-0.0}, frozenset([1]), frozenset([True]))]


@scenario
def tuple_keys(wrap):
    def f(x, d):
        return x * d[(1, 2)], [repr(k) for k in d]

    c = wrap(f)
    return [c(X, d) for d in ({(1, 2): 2}, {(1, 2): 2, "a": 1}, {(True, 2.0): 2})]


@scenario
def mutate_alias(wrap):
    def f(x, a, b):
        a.append(1)
        n = len(b)
        return x * n

    c = wrap(f)
    kept = [1]
    r = [c(X, [1], [1]), c(X, kept, kept), c(X, [1], [1]), c(X, kept, kept)]
    return r, kept


@scenario
def alias_nested(wrap):
    def f(x, a, d):
        a.append(1)
        return x * len(d["k"]), d["k"] is a

    c = wrap(f)
    kept = [1]
    return [
        c(X, [1], {"k": [1]}),
        c(X, kept, {"k": kept}),
        c(X, [1], {"k": [1]}),
        c(X, kept, {"k": kept}),
    ], kept


@scenario
def dict_wild(wrap):
    d = {"n": 0}

    def f(x):
        d["n"] += 1
        d["n"] += 1
        return x * d["n"]

    c = wrap(f)
    return [c(X) for _ in range(4)], dict(d)


@scenario
def pops(wrap):
    st = [1, 2, 3, 4, 5, 6]

    def f(x):
        n = st.pop()
        m = st.pop(0)
        st.insert(1, 9)
        st.reverse()
        return x * n + m, len(st)

    c = wrap(f)
    return [c(X) for _ in range(5)], st


@scenario
def empty_pop(wrap):
    st = [1, 2]

    def f(x):
        try:
            n = st.pop()
        except IndexError:
            n = -7
        return x * n

    c = wrap(f)
    return [c(X) for _ in range(5)], st


@scenario
def dict_methods(wrap):
    def f(x, d):
        d.setdefault("a", []).append(x.shape[0])
        d.update(b=2, c=x)
        d.pop("z", None)
        e = d.pop("q", 5)
        del d["b"]
        k = list(d)
        return x * e, k, d["a"]

    c = wrap(f)
    ds = [{}, {"q": 2}, {"a": [1]}, {"z": 1, "a": [2]}, {}]
    return [c(X, d) for d in ds], ds


@scenario
def list_items(wrap):
    def f(x, kept):
        kept[0] = x
        kept[-1] = kept[0] * 2
        kept[1:2] = [7, 8]
        del kept[2]
        kept += [1, 2]
        kept *= 1
        return kept, x

    c = wrap(f)
    return [c(X, [1, 2, 3]) for _ in range(3)]


@scenario
def counter_queue(wrap):
    q = collections.deque([1, 2, 3])

    def f(x):
        q.append(q.popleft())
        q.rotate(1)
        q.appendleft(0)
        return x * q[0] + len(q) + q[1]

    c = wrap(f)
    return [c(X) for _ in range(4)], list(q)


@scenario
def grow_while_iterating(wrap):
    def f(x, kept):
        for i in kept:
            if i < 3:
                kept.append(i + 1)
            x = x + i
        return x, len(kept)

    c = wrap(f)
    kept = [1]
    return [c(X, [1]), c(X, kept), c(X, [2]), c(X, kept), kept]


@scenario
def dict_changes_size(wrap):
    def f(x, d):
        try:
            for k in d:
                d[k + "1"] = 1
        except RuntimeError as e:
            return x, str(e)
        return x

    c = wrap(f)
    return [c(X, {"a": 1}) for _ in range(3)]


@scenario
def print_order(wrap):
    out = io.StringIO()
    log = []

    class L(list):
        pass

    def f(x, w):
        print("a", x.shape, sep="|")
        log.append("1")
        print(x)
        y = x * 2
        print([1, 2], {"a": None}, end="!\n")
        x.add_(1)
        print(y.sum())
        return y

    c = wrap(f)
    with contextlib.redirect_stdout(out):
        r = [c(torch.ones(2) * i, 1) for i in range(4)]
    return r, out.getvalue(), log


@scenario
def print_list_then_grow(wrap):
    out = io.StringIO()

    def f(x, kept):
        print(kept)
        kept.append(1)
        print(kept)
        m = [x.dim()]
        print(m)
        m.append(2)
        print(m)
        return x + 1, m

    c = wrap(f)
    with contextlib.redirect_stdout(out):
        r = [c(X, [1]) for i in range(3)]
    return r, out.getvalue()


@scenario
def stdout_swapped(wrap):
    def f(x):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print("inside")
            y = x * 2
        print("outside")
        return y, out.getvalue()

    c = wrap(f)
    o2 = io.StringIO()
    with contextlib.redirect_stdout(o2):
        r = [c(X) for _ in range(3)]

    class Up(io.StringIO):
        def write(self, t):
            return super().write(t.upper())

    o3 = Up()
    with contextlib.redirect_stdout(o3):
        r.append(c(X))
    return r, o2.getvalue(), o3.getvalue()


@scenario
def asserts(wrap):
    kept = []

    def f(x):
        kept.append(1)
        y = x * 2
        assert y.sum() > 0, f"bad {kept}"
        kept.append(2)
        return y + 1

    c = wrap(f)
    return tries(c, (X,), (X,), (-X,), (X,), (-X,), (X,)), kept


@scenario
def raises(wrap):
    def f(x):
        if torch.isnan(x).any():
            raise ValueError("nan")
        if (x > 10).all():
            raise KeyError(x.shape)
        return x.log()

    c = wrap(f)
    n = X * float("nan")
    return tries(c, (X,), (X,), (n,), (X * 11,), (X,), (n,), (X * 11,))


@scenario
def first_call_raises(wrap):
    def f(x):
        if x.sum() < 0:
            raise ValueError("neg")
        return x + 1

    c = wrap(f)
    return tries(c, (-X,), (X,), (X,), (-X,), (X,))


@scenario
def caught(wrap):
    def f(x):
        try:
            assert x.sum() > 0
            y = x * 2
        except AssertionError:
            y = x * 3
        return y

    c = wrap(f)
    return tries(c, (X,), (X,), (-X,), (-X,), (X,))


@scenario
def in_place_after(wrap):
    def f(x):
        assert x.sum() > 0
        x.add_(1)
        return x * 1

    c = wrap(f)
    a = [X.clone(), X.clone(), -X, X.clone(), -2 * X]
    return tries(c, *[(e,) for e in a]), a


@scenario
def in_place_before(wrap):
    def f(x):
        x.add_(1)
        assert x.sum() > 0
        return x * 1

    c = wrap(f)
    a = [X.clone(), X.clone(), -3 * X, X.clone(), -4 * X]
    return tries(c, *[(e,) for e in a]), a


@scenario
def draws(wrap):
    def f(x):
        y = x * torch.rand(3)
        assert x.sum() > 0
        return y

    torch.manual_seed(0)
    c = wrap(f)
    return tries(c, (X,), (X,), (-X,), (X,), (-X,)), torch.rand(1)


@scenario
def under_no_grad(wrap):
    w = torch.ones(3, requires_grad=True)

    def f(x):
        with torch.no_grad():
            y = x * w
            assert y.sum() > 0
        return y * w, torch.is_grad_enabled()

    c = wrap(f)
    r = tries(c, (X,), (X,), (-X,), (X,), (-X,))
    return r, torch.is_grad_enabled()


@scenario
def index_after(wrap):
    t = torch.arange(5.0)

    def f(i):
        assert (i < 5).all(), "range"
        return t[i] * 2

    c = wrap(f)
    g = torch.tensor
    return tries(c, (g([1]),), (g([2]),), (g([7]),), (g([3]),), (g([9]),))


@scenario
def not_scalar(wrap):
    def f(x):
        assert x > 0
        return x

    c = wrap(f)
    return tries(c, (X,), (X[0, 0],), (X,), (-X[0, 0],))


@scenario
def condition_is_written_to(wrap):
    def f(x):
        ok = x.sum() > 0
        assert ok
        ok.fill_(True)
        return x * ok

    c = wrap(f)
    return tries(c, (X,), (X,), (-X,), (X,), (-X,))


@scenario
def nothing_of_ours_is_being_handled(wrap):
    def f(x):
        seen = [sys.exc_info()[0]]
        try:
            time.sleep("long")
        except TypeError as error:
            seen += [sys.exc_info()[0], error.__context__]
        time.sleep(0)
        return x + 1, [*seen, sys.exc_info()[0]]

    c = wrap(f)
    return [c(X) for _ in range(3)]


@scenario
def attributes_of_classes_and_modules(wrap):
    class Base:
        n = 0

    class Sub(Base):
        pass

    def f(x, kind):
        kind.n = kind.n + 1
        programs.COUNT = kind.n + x.shape[0]
        sub.m = getattr(sub, "m", 0) + programs.COUNT
        return x * kind.n, Sub.n, Sub().n, sub.m

    sub = Sub()
    c = wrap(f)
    return [c(X, kind) for kind in (Base, Sub, Base, Sub, Base)], Base.n, Sub.n, programs.COUNT


@scenario
def rows_of_tensors(wrap):
    def f(x):
        rows = list(x)
        rows[0].add_(1)
        total = sum(collections.deque(rows))
        for i, (a, b) in enumerate(zip(x, x.T.contiguous().T, strict=True)):
            total = total + a * b * i
        return total, tuple(x), sorted({"b": x, "a": x})

    c = wrap(f)
    return [c(torch.ones(2, 2)), c(torch.ones(2, 2)), c(torch.ones(3, 3))]


@scenario
def slices_of_lists(wrap):
    def f(x, kept):
        kept[1:2] = [x.shape[0], 5]
        del kept[:1]
        kept.sort()
        kept += (1,)
        return x * kept[0], len(kept)

    c = wrap(f)
    kept = [3, 2, 1]
    return [c(X, kept) for _ in range(4)], kept


@scenario
def operators_in_c_end_the_recording(wrap):
    class Odd(torch.nn.Module):
        def __len__(self):
            return 2

    def f(x):
        flags = [x.sum() > 0, x.sum() > 100]
        return x * any(flags), max([(x.mean(), 1), (x.mean() * 2, 2)])[1], len(Odd())

    c = wrap(f)
    return [c(X), c(-X), c(X * 50), c(X)]


@scenario
def functions_made_again_are_whole(wrap):
    def named(function):
        @functools.wraps(function)
        def outer(*args):
            return function(*args)

        return outer

    def noted(function):
        function.__doc__ = "set later"
        function.__module__ = "elsewhere"
        return function

    def f(x):
        def first(a: int, *, b: "float" = 2.0) -> torch.Tensor:
            """Multiply."""
            return a * b

        second, third = named(first), noted(lambda a: a)
        third.__annotations__ = {"a": torch.Tensor}
        time.sleep(0)
        told = [sorted(map(str, g.__annotations__.items())) for g in (first, second, third)]
        also = [
            (g.__doc__, g.__module__, g.__name__, g.__qualname__) for g in (first, second, third)
        ]
        return second(x) * len(first.__annotations__), told, also

    c = wrap(f)
    return [c(torch.ones(n, 3)) for n in (4, 5, 6, 7)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_in_eager_code(name):
    """What the scenario sees is what it sees without us."""
    expected = plain(SCENARIOS[name](lambda each: each))
    found = plain(quiet(SCENARIOS[name], optimize()))
    assert str(found) == str(expected)


@pytest.mark.parametrize("name", RAISING_FOR_DATA)
def test_what_an_operator_raises_for_data_is_caught_after_a_write(name):
    """A replay cannot take the write back, so what may raise is run where it can be caught."""
    operator, legal, illegal = RAISING_FOR_DATA[name]

    def f(total, given):
        try:
            total.add_(1)
            operator(given)
            total.add_(10)
        except (IndexError, RuntimeError) as error:
            return type(error).__name__
        return None

    call = optimize()(f)
    for given in (legal, illegal, legal, illegal):
        ours, eager = torch.zeros(2), torch.zeros(2)
        assert call(ours, given) == f(eager, given)
        assert torch.equal(ours, eager)
    assert f(torch.zeros(2), illegal)
