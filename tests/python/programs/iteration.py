"""The iteration protocol, and itertools."""

import collections
import itertools

from tests.python.registry import program


@program
def protocol_calls():
    """`for` calls `iter` once and `next` until StopIteration."""
    log = []

    class It:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            log.append("iter")
            return self

        def __next__(self):
            log.append("next")
            self.n += 1
            if self.n > 2:
                raise StopIteration
            return self.n

    for x in It():
        log.append(x)
    return log


@program
def iter_returns_non_iterator():
    """`__iter__` must give something with `__next__`."""

    class A:
        def __iter__(self):
            return 5

    class B:
        __iter__ = None

        def __getitem__(self, i):
            return i

    seen = []
    for make in (A, B, int):
        try:
            for _ in make():
                break
        except TypeError as error:
            seen.append(str(error))
    return seen


@program
def iter_with_sentinel():
    """`iter(callable, sentinel)` calls until the sentinel."""
    data = [1, 2, 0, 3]
    return list(iter(lambda: data.pop(0), 0)), data, list(iter(iter([1, 2]).__next__, 2))


@program
def next_with_default():
    """`next` with a default swallows StopIteration alone."""

    class It:
        def __next__(self):
            raise ValueError("v")

    try:
        next(It(), "default")
    except ValueError:
        return next(iter([]), "default"), next(iter([1]), "default"), next(iter(()), None)


@program
def list_changed_while_iterating():
    """A list iterator reads the list as it is now."""
    x = [1, 2, 3]
    seen = []
    for v in x:
        seen.append(v)
        if v == 1:
            x.append(10)
        if v == 2:
            x.remove(1)
    return seen, x


@program
def dict_changed_while_iterating():
    """Changing the size of a dict while iterating is refused."""
    d = {1: 1, 2: 2}
    seen = []
    try:
        for k in d:
            seen.append(k)
            d[k + 10] = 0
    except RuntimeError as error:
        seen.append(str(error))
    for k in d:
        d[k] = "changed"
    s = {1}
    try:
        for v in s:
            s.add(v + 1)
    except RuntimeError as error:
        seen.append(str(error))
    return seen, d


@program
def exhausted_list_iterator_stays():
    """A list iterator that ended stays ended."""
    x = [1]
    it = iter(x)
    seen = [next(it), next(it, "end")]
    x.append(2)
    return seen, next(it, "still end")


@program
def reversed_and_enumerate():
    """`reversed` asks `__reversed__`, or length and items."""

    class A:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return i * 10

    class B:
        def __reversed__(self):
            return iter("backwards")

    return (
        list(reversed(A())),
        "".join(reversed(B())),
        list(enumerate(reversed("abc"), start=-1)),
        list(reversed(range(3))),
    )


@program
def zip_stops_early():
    """`zip` stops at the shortest, having asked those before it."""
    a, b = iter([1, 2, 3]), iter("ab")
    made = list(zip(a, b))
    try:
        list(zip([1], [], strict=True))
    except ValueError as error:
        return made, next(a, "empty"), str(error), list(zip()), list(zip(*[(1, "a"), (2, "b")]))


@program
def range_objects():
    """Ranges of all signs, slices and membership."""
    r = range(10, 0, -3)
    seen = []
    for i in r:
        seen.append(i)
    return (
        seen,
        r[1],
        r[::-1],
        4 in r,
        len(r),
        list(range(0)),
        r == range(10, 0, -3),
        range(2**70, 2**70 + 2)[1],
    )


@program
def iterator_with_state_in_two_loops():
    """Two loops over one iterator share it."""
    it = iter(range(6))
    seen = []
    for x in it:
        seen.append(x)
        if x == 2:
            break
    for x in it:
        seen.append(-x)
    return seen


@program
def nested_loops_over_same_iterator():
    """A loop inside of a loop over the same iterator."""
    it = iter("abcdef")
    return [(a, b) for a in it for b in itertools.islice(it, 1)]


@program
def itertools_with_functions():
    """The functions of itertools that call back."""
    log = []

    def odd(x):
        log.append(x)
        return x % 2

    return (
        list(itertools.takewhile(odd, [1, 3, 4, 5])),
        list(itertools.dropwhile(odd, [1, 3, 4, 5])),
        list(itertools.filterfalse(odd, range(5))),
        list(itertools.starmap(lambda a, b: a**b, [(2, 3), (3, 2)])),
        list(itertools.accumulate([1, 2, 3], lambda a, b: a * 10 + b)),
        list(itertools.accumulate([1, 2], initial=5)),
        [(k, list(g)) for k, g in itertools.groupby([1, 3, 2, 4, 5], odd)],
        log,
    )


@program
def itertools_plain():
    """Products, combinations, chains, slices, tees."""
    a, b = itertools.tee(x * x for x in range(4))
    return (
        list(itertools.product("ab", repeat=2)),
        list(itertools.combinations(range(4), 2))[-1],
        list(itertools.permutations("abc"))[3],
        list(itertools.chain([1], "ab", (x for x in [2]))),
        list(itertools.chain.from_iterable([[1], [2, 3]])),
        list(itertools.islice(itertools.count(5, 2), 1, 6, 2)),
        list(itertools.islice(itertools.cycle("ab"), 5)),
        list(itertools.repeat("x", 3)),
        list(itertools.zip_longest("abc", [1], fillvalue="-")),
        list(itertools.compress("abcd", [1, 0, "x", None])),
        list(itertools.pairwise("abcd")),
        next(a),
        list(b),
        list(a),
    )


@program
def groupby_is_shared():
    """Groups of `groupby` share the iterator; late ones are empty."""
    groups = [(k, g) for k, g in itertools.groupby("aabbc")]
    return [(k, list(g)) for k, g in groups]


@program
def laziness():
    """`map`, `filter`, `zip` and `islice` pull no more than asked."""
    pulled = []

    def source():
        for i in itertools.count():
            pulled.append(i)
            yield i

    it = zip(map(lambda x: x * 2, source()), filter(lambda x: x % 3 == 0, source()))
    return next(it), next(it), pulled


@program
def exception_in_source():
    """An exception of the source passes through C iterators once."""

    def source():
        yield 1
        raise ValueError("source")

    seen = []
    it = map(str, source())
    for _ in range(3):
        try:
            seen.append(next(it))
        except (ValueError, StopIteration) as error:
            seen.append(type(error).__name__)
    return seen


@program
def deque_counter_defaultdict():
    """Containers of `collections` with callbacks."""
    d = collections.defaultdict(lambda: [0])
    d["a"].append(1)
    d["b"]
    q = collections.deque([1, 2, 3], maxlen=3)
    q.append(4)
    q.rotate(1)
    c = collections.Counter("abracadabra")
    c.update("aaa")
    o = collections.OrderedDict(a=1, b=2)
    o.move_to_end("a")
    m = collections.ChainMap({"x": 1}, {"x": 2, "y": 3})
    return (
        dict(d),
        list(q),
        c.most_common(2),
        list(o),
        m["x"],
        m["y"],
        c["nothing"],
        (c - c)["a"],
        dict(+c)["b"],
    )


@program
def user_containers():
    """`UserDict`, `UserList` and abstract containers with interpreted methods."""

    class D(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key.upper(), value)

    class S(collections.abc.MutableSequence):
        def __init__(self):
            self.items = []

        def __getitem__(self, i):
            return self.items[i]

        def __setitem__(self, i, v):
            self.items[i] = v

        def __delitem__(self, i):
            del self.items[i]

        def __len__(self):
            return len(self.items)

        def insert(self, i, v):
            self.items.insert(i, v)

    d, s = D(a=1), S()
    d["b"] = 2
    d.update(c=3)
    s.append(1)
    s.extend([2, 3])
    s += [4]
    s.reverse()
    return (
        d.data,
        s.items,
        s.pop(),
        2 in s,
        s.index(3),
        list(reversed(s)),
        d.setdefault("z", 9),
        len(d),
    )


@program
def dict_views():
    """Views follow their dict, and are sets."""
    d = {"a": 1, "b": 2}
    keys, items, values = d.keys(), d.items(), d.values()
    d["c"] = 3
    return (
        list(keys),
        sorted(keys & {"a", "c", "z"}),
        list(items)[-1],
        list(values),
        ("a", 1) in items,
        keys == {"a", "b", "c"},
    )


@program
def dict_with_user_keys():
    """Hash and equality of user objects are asked by dicts and sets."""
    log = []

    class K:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            log.append(("hash", self.n))
            return self.n % 2

        def __eq__(self, other):
            log.append(("eq", self.n, other.n))
            return self.n == other.n

    d = {K(1): "one"}
    d[K(3)] = "three"
    return d[K(3)], K(1) in d, d.get(K(2)), len({K(4), K(4)}), log


@program
def iterating_strings_bytes_sets():
    """All builtin iterables."""
    seen = []
    for source in (
        "ab",
        b"ab",
        bytearray(b"c"),
        {5},
        frozenset([6]),
        {"k": 1},
        {"k": 1}.items(),
        memoryview(b"z"),
        (1,),
    ):
        for x in source:
            seen.append(x)
    return seen


@program
def length_hint_and_contains_fallbacks():
    """`list` of an iterator whose length hint lies or raises."""

    class Hinting:
        def __init__(self, hint):
            self.hint, self.left = hint, 3

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

        def __length_hint__(self):
            if self.hint is None:
                raise KeyError("hint")
            return self.hint

    seen = [list(Hinting(0)), list(Hinting(100))]
    try:
        list(Hinting(None))
    except KeyError:
        seen.append("raised")
    return seen
