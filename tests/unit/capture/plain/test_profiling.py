"""Plain capture sees calls before they happen, and finds what was written to by comparing."""

from __future__ import annotations

import cProfile
import functools
import gc
import logging
import sys
import textwrap
import threading
import time
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from monograph import export
from monograph.diagnostics import MonographError
from tests.state.description import abstract_tensors

COUNTS = {"n": {"deep": [0]}}
ARRAY = np.zeros(2)
TOTAL = 0
FROZEN = (1, [2])
CALLED: list[int] = []
OUTSIDE = "outside-read"
OUTLIVES = "write-outlives-call"


class Slotted:
    """Keeps a number in a slot."""

    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


class Registry(dict):
    """A mapping of the user's own."""


class Config:
    """Attributes on a class."""

    n = 0
    seen: list = []  # noqa: RUF012  the point

    @classmethod
    def step(cls):
        """Count on the class."""
        cls.n += 1
        return cls.n


SLOTTED = Slotted()
REGISTRY = Registry()
NUMBERS = (n for n in range(100))


def of(function, **attributes):
    """Make a module whose forward is this function."""
    made = torch.nn.Module.__new__(type("Model", (torch.nn.Module,), {"forward": function}))
    torch.nn.Module.__init__(made)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def plainly(function, **attributes):
    """Capture as plain Python."""
    return export(of(function, **attributes), (torch.ones(3),), strict=False)


def refusal_of(function, **attributes):
    """The message of a refusal."""
    before = sys.getprofile()
    with pytest.raises(MonographError) as caught:
        plainly(function, **attributes)
    assert sys.getprofile() is before
    return caught.value.diagnostic.name, str(caught.value)


# --- writes --------------------------------------------------------------------------------------


def deep(self, x):
    """Write deep inside of a global."""
    COUNTS["n"]["deep"][0] += 1
    return x * COUNTS["n"]["deep"][0]


def array(self, x):
    """Write to a global array."""
    ARRAY[0] += 1
    return x * float(ARRAY[0])


def in_a_tuple(self, x):
    """Write to a list that a tuple holds."""
    FROZEN[1].append(1)
    return x * len(FROZEN[1])


def slot(self, x):
    """Write to a slot."""
    SLOTTED.n += 1
    return x * SLOTTED.n


def registry(self, x):
    """Fill a mapping of the user's."""
    REGISTRY[len(REGISTRY)] = 1
    return x * len(REGISTRY)


def own_registry(self, x):
    """Fill a mapping of the user's that hangs on the module."""
    self.registry[len(self.registry)] = 1
    return x * len(self.registry)


def own_class(self, x):
    """Count on the class of an object."""
    self.config.__class__.n += 1
    return x * self.config.n


def class_method(self, x):
    """Count in a class method."""
    return x * Config.step()


def class_list(self, x):
    """Fill a list that a class holds."""
    self.config.seen.append(1)
    return x * len(self.config.seen)


def by_name(self, x):
    """Write to a global by its name."""
    globals()["TOTAL"] += 1
    return x * TOTAL


def by_setattr(self, x):
    """Write to a class by the name of the attribute."""
    setattr(Config, "n", Config.n + 1)  # noqa: B010  the point
    return x * Config.n


def generator(self, x):
    """Advance a global generator."""
    return x * next(NUMBERS)


def helper(seen):
    """Fill what is given."""
    seen.append(1)
    return len(seen)


def in_a_helper(self, x):
    """Hand a global to a function."""
    return x * helper(CALLED)


WRITES = {
    "COUNTS": deep,
    "ARRAY": array,
    "FROZEN": in_a_tuple,
    "SLOTTED": slot,
    "REGISTRY": registry,
    "Config.n": class_method,
    "Config.seen": class_list,
    "TOTAL": by_name,
    "NUMBERS": generator,
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_that_outlive_the_call_are_refused(name):
    """By name."""
    found, message = refusal_of(WRITES[name], config=Config())
    assert found == OUTLIVES
    assert name in message


def test_they_are_refused_at_their_line():
    """The line that changed something is the one that is shown."""
    assert 'COUNTS["n"]["deep"][0] += 1' in refusal_of(deep)[1]
    assert "seen.append(1)" in refusal_of(in_a_helper)[1]
    assert "cls.n += 1" in refusal_of(class_method)[1]


@pytest.mark.parametrize("function", [own_class, by_setattr, own_registry])
def test_so_are_those_that_code_does_not_name(function):
    """Classes of objects, attributes by their name, mappings of the user's on the module."""
    name, _ = refusal_of(function, config=Config(), registry=Registry())
    assert name in {OUTLIVES, "attribute-changed"}


def test_all_is_as_before():
    """A refused capture leaves no trace."""
    before = COUNTS["n"]["deep"][0], float(ARRAY[0]), SLOTTED.n, len(REGISTRY), Config.n, TOTAL
    for function in (deep, array, slot, registry, class_method, by_name):
        refusal_of(function)
    after = COUNTS["n"]["deep"][0], float(ARRAY[0]), SLOTTED.n, len(REGISTRY), Config.n, TOTAL
    assert after == before


def test_modules_of_the_user(tmp_path, monkeypatch):
    """Globals of another file, reached through the module."""
    (tmp_path / "counting_here.py").write_text("COUNT = 0\nSEEN = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    import counting_here  # noqa: PLC0415  made just now

    def counts(self, x):
        counting_here.COUNT += 1
        return x * counting_here.COUNT

    def fills(self, x):
        counting_here.SEEN.append(1)
        return x * len(counting_here.SEEN)

    for function in (counts, fills):
        assert refusal_of(function)[0] == OUTLIVES
    assert (counting_here.COUNT, counting_here.SEEN) == (0, [])


def test_a_variable_assigned_by_a_generator():
    """`nonlocal` in a generator function."""
    n = 0

    def numbers():
        nonlocal n
        for _ in range(2):
            n += 1
            yield n

    name, message = refusal_of(lambda self, x: x * sum(numbers()))
    assert name == OUTLIVES
    assert "`n`" in message
    assert n == 0


@dataclass
class Temporary:
    """Made in every call."""

    seen: list = field(default_factory=list)


def temporaries(self, x):
    """Objects that the call makes are free."""
    made = Temporary()
    made.seen.append(x)
    made.more = {"x": made.seen}
    helper(made.seen)
    total = 0

    def add(n):
        nonlocal total
        total += n
        return total

    add(len(made.seen))
    box = types.SimpleNamespace(n=0)
    box.n += 1
    return made.more["x"][0] * total + box.n


def test_what_the_call_makes_is_free():
    """Also where functions of the user's change it."""
    program = plainly(temporaries)
    assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 3.0))


def test_a_cached_function_keeps_no_tensor():
    """Its cache is empty again."""

    @functools.lru_cache
    def table(n):
        return torch.arange(float(n))

    before = set(abstract_tensors())
    program = plainly(lambda self, x: x + table(3))
    assert table.cache_info().currsize == 0
    assert torch.equal(program.module()(torch.zeros(3)), torch.arange(3.0))
    del program
    assert set(abstract_tensors()) <= before


def test_a_file_imported_by_forward_may_register(tmp_path, monkeypatch):
    """What an import leaves behind stays, as the imported module does."""
    (tmp_path / "registering_here.py").write_text(
        textwrap.dedent(f"""
            from {__name__} import REGISTRY
            REGISTRY["late"] = 7
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)

    def imports(self, x):
        import registering_here  # noqa: F401, PLC0415  the point

        return x * REGISTRY["late"]

    try:
        program = plainly(imports)
        assert REGISTRY == {"late": 7}
        assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 7.0))
    finally:
        REGISTRY.clear()


# --- reads from outside --------------------------------------------------------------------------


def through_an_alias(self, x):
    """Read a clock under another name."""
    return x * self.now()


def in_a_comprehension(self, x):
    """Read a clock in a function within."""
    return x * sum(time.time() for _ in range(2))


def swallowed(self, x):
    """Catch the refusal."""
    try:
        return x * time.time()
    except Exception:  # noqa: BLE001  the point
        return x * 2


def hashed(self, x):
    """Ask for the hash of what may be any object."""
    return x * (hash(self.config) % 7)


@pytest.mark.parametrize("function", [through_an_alias, in_a_comprehension, swallowed, hashed])
def test_reads_from_outside_are_refused(function):
    """However they are reached."""
    name, _ = refusal_of(function, now=time.perf_counter, config=Config())
    assert name == OUTSIDE


def test_libraries_mind_their_own_business():
    """Logging reads clocks, which is no matter of the program's."""

    def logs(self, x):
        logging.getLogger("tests.plain").warning("rows: %d", x.shape[0])
        return x * 2

    assert plainly(logs) is not None


# --- the profiler --------------------------------------------------------------------------------


def test_a_profiler_in_python_goes_on():
    """It is told of the user's functions, and stays."""
    told = []

    def profiler(frame, event, arg):
        if event == "call":
            told.append(frame.f_code.co_name)

    sys.setprofile(profiler)
    try:
        plainly(temporaries)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert "temporaries" in told
    assert "helper" in told


def test_a_profiler_in_c_waits():
    """`cProfile` cannot be told by another: it goes on afterwards."""
    profiler = cProfile.Profile()
    with profiler, pytest.raises(MonographError, match="outside-read"):
        plainly(lambda self, x: x * time.time())
    with profiler:
        before = sys.getprofile()  # from Python 3.12 on `cProfile` is a tool of `sys.monitoring`
        plainly(temporaries)
        assert sys.getprofile() is before
        helper([])
    assert any("helper" in str(each.code) for each in profiler.getstats())


def test_a_profiler_written_in_c_outlives_collections():
    """Beside another thread collections go on, and none of them takes the profiler away."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    thresholds = gc.get_threshold()
    profiler = cProfile.Profile()
    gc.set_threshold(10)
    try:
        with profiler:
            plainly(temporaries)
            helper([])
    finally:
        gc.set_threshold(*thresholds)
        done.set()
        other.join()
    assert any("helper" in str(each.code) for each in profiler.getstats())
