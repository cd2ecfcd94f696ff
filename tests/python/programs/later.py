"""Grammar that came after 3.10, as text: tried wherever this Python reads it."""

from tests.python.registry import text

text(
    (3, 11),
    "star_in_subscript",
    """
def main():
    class K:
        def __getitem__(self, key):
            return key
    return K()[*"ab"], K()[1, *[2, 3]], K()[*()]
""",
)

text(
    (3, 11),
    "exception_groups_as_values",
    """
def main():
    group = ExceptionGroup("many", [ValueError(1), TypeError(2), ExceptionGroup("in", [KeyError(3)])])
    match, rest = group.split(KeyError)
    try:
        raise group
    except ExceptionGroup as caught:
        return caught is group, len(rest.exceptions), match.exceptions[0].exceptions[0].args, group.derive([ValueError()]).message
""",
)

text(
    (3, 11),
    "except_star",
    """
def main():
    seen = []
    try:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2), KeyError(3)])
        except* ValueError as group:
            seen.append(("value", [e.args for e in group.exceptions]))
        except* TypeError as group:
            seen.append(("type", [e.args for e in group.exceptions]))
    except ExceptionGroup as left:
        seen.append(("left", [e.args for e in left.exceptions]))
    try:
        raise ValueError("alone")
    except* ValueError as group:
        seen.append((type(group).__name__, group.exceptions[0].args))
    else:
        seen.append("else")
    finally:
        seen.append("finally")
    return seen
""",
)

text(
    (3, 11),
    "except_star_raising",
    """
def main():
    try:
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise KeyError("new")
    except ExceptionGroup as group:
        return [type(e).__name__ for e in group.exceptions]
""",
)

text(
    (3, 12),
    "type_parameters",
    """
def main():
    def first[T](items: list[T], *, default: T = None) -> T:
        return items[0] if items else default

    class Box[T, *Ts, **P]:
        def __init__(self, x: T):
            self.x = x
        def map[U](self, f) -> "Box[U]":
            return Box(f(self.x))

    type Pair[A] = tuple[A, A]
    return first([1, 2]), first([], default=3), Box(4).map(str).x, [p.__name__ for p in Box.__type_params__], Pair.__value__ == tuple[Pair.__type_params__[0], Pair.__type_params__[0]], first.__type_params__[0].__name__
""",
)

text(
    (3, 12),
    "type_parameter_bounds_are_lazy",
    """
def main():
    log = []
    def bound():
        log.append("bound")
        return int
    def f[T: bound()](x: T):
        return x
    before = list(log)
    b = f.__type_params__[0].__bound__
    type Lazy = log.append("alias") or int
    return before, b, log, Lazy.__value__, log, f(3)
""",
)

text(
    (3, 12),
    "quotes_in_f_strings",
    """
def main():
    d = {"k": [1, 2]}
    return f"{d["k"][1]} {f"{f"{1 + 1}"}"}", f"{'a' 'b'}", f"{"\\n".join(str(x) for x in d["k"])}", f"{
        d  # with a comment
        ["k"]
    }"
""",
)

text(
    (3, 12),
    "comprehension_in_class_sees_class_cell",
    """
def main():
    class A:
        def f(self):
            return [super(A, self).__init__() for _ in range(2)], [__class__.__name__ for _ in range(1)]
    return A().f()
""",
)

text(
    (3, 12),
    "super_in_comprehension",
    """
def main():
    class Base:
        def f(self, i):
            return i * 2
    class A(Base):
        def g(self):
            return [super().f(i) for i in range(3)], {i: super().f(i) for i in range(2)}
    return A().g()
""",
)

text(
    (3, 12),
    "inlined_comprehension_scopes",
    """
def main():
    x = 10
    a = [x for x in range(3)]
    b = [lambda: x for x in range(2)]
    c = [[x + y for x in range(y)] for y in range(3)]
    def inner():
        return [x for _ in range(2)], x
    try:
        d = [1 // x for x in (1, 0)]
    except ZeroDivisionError:
        d = x
    e = locals().keys() >= {"x", "a"}
    return x, a, [f() for f in b], c, inner(), d, e, [z := 5 for _ in range(1)], z
""",
)

text(
    (3, 13),
    "locals_write_through_frame",
    """
def main():
    import sys
    x = 1
    snapshot = locals()
    x = 2
    return snapshot["x"], locals()["x"], locals() is not locals()
""",
)

text(
    (3, 13),
    "type_parameter_defaults",
    """
def main():
    def f[T = int](x: T) -> T:
        return x
    class A[T = str, *Ts = *tuple[int, str]]:
        pass
    return f.__type_params__[0].__default__, A.__type_params__[0].__default__, f(5)
""",
)
