"""What random programs find around them: globals, classes, and what their module has.

A program is given those that it names, so that what fails is small. `{m}` is a size of the example.
"""

IMPORTS = """\
import array, bisect, collections, contextlib, copy, dataclasses, enum, functools, heapq, io
import itertools, math, operator, os, queue, random, struct, sys, time, types, warnings, weakref
import numpy as np
import torch
import torch.nn.functional as F
"""

GLOBALS = {
    "GL": "GL = [torch.full((1,), 2.0), 2.0, 3.0]",
    "GD": "GD = {'w': torch.arange(3.0), 'n': 2}",
    "GA": "GA = np.arange(4.0)",
    "GAV": "GAV = np.arange(4.0)[1:]",
    "GQ": "GQ = collections.deque([1.0, 2.0], maxlen=9)",
    "GC": "GC = collections.Counter('aab')",
    "GDD": "GDD = collections.defaultdict(int)",
    "GO": "GO = collections.OrderedDict(a=2.0, b=3.0)",
    "GS": "GS = {1, 2}",
    "GH": "GH = [1, 3, 2]",
    "GB": "GB = bytearray(b'ab')",
    "GM": "GM = array.array('d', [1.0, 2.0])",
    "GMP": "GMP = types.MappingProxyType({'a': 2.0})",
    "GI": "GI = itertools.count(1)",
    "GCY": "GCY = itertools.cycle([1, 2])",
    "GN": "GN = 2",
    "GT": "GT = torch.arange(3.0)\nGT.note = 2.0",
    "GTT": "GTT = torch.tensor(2.0)",
    "GR": "GR = random.Random(3)",
    "GF": "GF = io.StringIO('abc')",
    "GU": "GU = queue.Queue()",
    "GX": "GX = types.SimpleNamespace(rate=2.0)",
    "GW": "GW = weakref.WeakValueDictionary()",
    "GP": "GP = functools.partial(torch.mul, torch.tensor(2.0))",
    "Config": """\
class Config:
    scale = 2.0

    @property
    def value(self):
        return self.scale * 2""",
    "CACHED": """\
@functools.lru_cache
def CACHED(n):
    return n * 2""",
    "ADD": """\
def adder(by):
    def add(e):
        return e + by
    return add
ADD = adder(torch.tensor(2.0))""",
    "TICK": """\
def ticker():
    n = 0
    def tick():
        nonlocal n
        n += 1
        return n
    return tick
TICK = ticker()""",
    "SCALED": """\
def scaled_by(f):
    @functools.wraps(f)
    def scaled(*args, by=2, **kwargs):
        return f(*args, **kwargs) * by
    return scaled
SCALED = scaled_by(torch.tanh)""",
    "managed": """\
@contextlib.contextmanager
def managed():
    before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        yield
    finally:
        torch._C._set_grad_enabled(before)""",
    "Stop": "class Stop(Exception):\n    pass",
    "Point": "Point = collections.namedtuple('Point', 'p q')",
    "Color": "Color = enum.Enum('Color', 'RED BLUE')",
    "Box": """\
class Box:
    __slots__ = ("t", "n")

    def __init__(self, t, n=1):
        self.t, self.n = t, n

    def twice(self):
        return self.t * 2 if self.n else self.t

    def put(self, t):
        if t.dim() < 5:
            self.t = t""",
    "Pair": """\
@dataclasses.dataclass
class Pair:
    left: object
    right: object
    tag: str = "p\"""",
    "Frozen": """\
@dataclasses.dataclass(frozen=True)
class Frozen:
    t: object
    tag: int = 3""",
    "Stack": "class Stack(list):\n    def top(self):\n        return self[-1]",
    "Table": "class Table(dict):\n    def __missing__(self, key):\n        return 3.0",
    "Chain": """\
class Chain:
    def __init__(self, t):
        self.t = t

    def add(self, other):
        self.t = self.t + other
        return self""",
    "Meter": """\
class Meter:
    def __init__(self, t):
        self.t = t

    @property
    def half(self):
        return self.t / 2

    @classmethod
    def made(cls, t):
        return cls(t).t

    def __call__(self, by):
        return self.t * by

    def __len__(self):
        return self.t.dim()

    def __enter__(self):
        self.t = self.t + 1
        return self.t

    def __exit__(self, *_):
        self.t = None

    def __add__(self, other):
        return self.t + other

    def __neg__(self):
        return -self.t

    def __getitem__(self, at):
        if at > 1:
            raise IndexError(at)
        return self.t * at

    def __bool__(self):
        return self.t.dim() > 1

    def __getattr__(self, name):
        if name == "missing":
            return 5
        raise AttributeError(name)""",
}

ATTRIBUTES = {
    "w": "self.w = torch.nn.Parameter(torch.arange(1.0, {m} + 1))",
    "b": "self.register_buffer('b', torch.ones({m}))",
    "lin": "self.lin = torch.nn.Linear({m}, 2)",
    "act": "self.act = torch.nn.GELU()",
    "seq": "self.seq = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Identity())",
    "drop": "self.drop = torch.nn.Dropout(0.5)",
    "norm": "self.norm = torch.nn.BatchNorm1d({m})",
    "table": "self.table = torch.full((3,), 2.0)",
    "cfg": "self.cfg = {{'n': 3}}",
    "count": "self.count = 1",
    "items": "self.items = [2.0, 3.0]",
    "opt": "self.opt = None",
}

METHODS = {
    "helper": """\
    def helper(self, e):
        if e.dim() == 0:
            return e
        for row in e:
            e = e + row.sum()
        return e""",
}
