"""`program.module()` and `unflatten(program)` under Dynamo, `symbolic_trace`, `jit.trace`, copies.

Where torch.export's own modules are taken by the tool, ours are; and what compiled code answers is
what the module answers in eager code, or it refuses.
"""

import contextlib
import copy
import warnings

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim, export, unflatten
from monograph.capture.queries.query_kinds import OF_TENSORS, SURROUNDINGS, names_of_questions
from monograph.program.calling.checks import GUARDED_BY_DYNAMO
from tests.archive.peers import quietly

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def anew():
    """Forget what was compiled before and after."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Twice(nn.Module):
    def forward(self, x):
        return x.sin() * 2


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.s, self.l = Twice(), nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x, *, k=None):
        self.seen.add_(1)
        y = self.s(self.l(x)) + self.seen
        return {"y": y, "all": [y if k is None else y * k]}


class Grown(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y]).view(-1, x.shape[1]) @ x.t() if x.shape[0] > 3 else x


class Counted(nn.Module):
    def forward(self, x, i):
        n = i.item()
        torch._check(n >= 0)
        torch._check(n <= 2)
        return x[:, :n] + 0


class Chosen(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
        if y.sum() > 0:
            return y * 2
        return y * 3


class Looped(nn.Module):
    def forward(self, x):
        while x.sum() < 10:
            x = x + 1
        return x


class Nested(nn.Module):
    def forward(self, d, *args):
        return d["a"] + args[0] + d["b"][0], args[1]


def r(*sizes):
    """Numbers that make every branch take its first side."""
    return torch.rand(*sizes)


MODULES = {
    "layers": (Layers(), (r(2, 3),), {"k": r(2, 3)}, None),
    "sizes": (nn.Linear(3, 3), (r(4, 3),), {}, {"input": {0: Dim("n")}}),
    "guards": (Grown(), (r(4, 3), r(5, 3)), {}, {"x": {0: Dim("n", min=4)}, "y": {0: Dim("m")}}),
    "assertions": (Counted(), (r(4, 3), torch.tensor(2)), {}, None),
    "branches": (Chosen(), (r(4, 3),), {}, None),
    "a loop": (Looped(), (r(2, 3),), {}, None),
    "structures": (Nested(), ({"a": r(2), "b": [r(2)]}, r(2), 3), {}, None),
}


def exported(name):
    """The program of one of the modules."""
    module, args, kwargs, sizes = MODULES[name]
    return export(copy.deepcopy(module), args, kwargs, dynamic_shapes=sizes)


def compared(name, run):
    """A tool's result answers as eager code does, for the example and for other sizes."""
    module, args, kwargs, sizes = MODULES[name]
    eager = copy.deepcopy(module)
    for given in (args, *((tuple(r(n, 3) for _ in args) for n in (7, 9)) if sizes else ())):
        torch.testing.assert_close(run(*given, **kwargs), eager(*given, **kwargs))


@pytest.mark.parametrize("form", ["module", "unflattened"])
@pytest.mark.parametrize("name", MODULES)
class TestTools:
    """Each program, in both forms."""

    def module(self, name, form):
        program = exported(name)
        return program.module() if form == "module" else unflatten(program)

    def test_dynamo_reads_it_whole(self, name, form):
        """Without a break, whatever the contract, the graph and the structures are."""
        with quietly():
            compared(name, torch.compile(self.module(name, form), backend="eager", fullgraph=True))

    def test_fx_traces_it(self, name, form):
        """The checks, assertions and branches are calls in the graph, and go on working."""
        traced = torch.fx.symbolic_trace(self.module(name, form))
        compared(name, traced)
        assert any("_guards_fn" in str(node.target) for node in traced.graph.nodes)

    def test_a_copy_runs_and_compiles(self, name, form):
        """Copies have the code made anew."""
        module = self.module(name, form)
        compared(name, copy.deepcopy(module))
        if name == "sizes":
            with quietly():
                again = copy.deepcopy(module)
                compared(name, torch.compile(again, backend="eager", fullgraph=True))

    def test_jit_traces_it(self, name, form):
        """As far as `jit.trace` takes such arguments and results, which are no dicts."""
        if name not in {"layers", "structures"}:
            given = copy.deepcopy(MODULES[name][1])
            compared(name, torch.jit.trace(self.module(name, form), given, check_trace=False))


class Holder(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


def test_programs_inside_of_compiled_code():
    """A module that holds one, a function, a part of an unflattened one, a traced one."""
    x = r(2, 3)
    whole = {"backend": "eager", "fullgraph": True}
    compared("sizes", torch.compile(Holder(exported("sizes").module()), **whole))
    compared("branches", torch.compile(Holder(unflatten(exported("branches"))), **whole))
    module = exported("sizes").module()
    compared("sizes", torch.compile(lambda x: module(x) + 0, **whole))
    compared("sizes", torch.compile(torch.fx.symbolic_trace(module), **whole))
    for part in ("s", "l"):
        parts = unflatten(exported("layers"))
        getattr(parts, part).compile(**whole)
        torch.testing.assert_close(parts(x, k=x), copy.deepcopy(MODULES["layers"][0])(x, k=x))
    assert "sin" in torch.fx.symbolic_trace(unflatten(exported("layers")).s).code
    module = exported("branches").module()
    module.compile(**whole)
    compared("branches", module)


def test_sizes_do_not_compile_again():
    """Two compilations: a size is fixed first, and then it is not."""
    counter = torch._dynamo.testing.CompileCounter()
    run = torch.compile(exported("sizes").module(), backend=counter, fullgraph=True)
    for n in (2, 5, 6, 9):
        run(r(n, 3))
    assert counter.frame_count == 2


class Written(nn.Module):
    def forward(self, x, y):
        if y.sum() > 0:
            x.add_(1)
        return x + y


class Laid(nn.Module):
    def forward(self, x):
        return x.as_strided((2, 2), (1, 2)) * x.stride(0)


class Followed(nn.Module):
    def forward(self, x):
        return (x * 2 if x.requires_grad else x * 3) * (2 if torch.is_grad_enabled() else 5)


class Leaf(nn.Module):
    def forward(self, x):
        return x * 2 if x.is_leaf else x * 3


class Surrounded(nn.Module):
    def forward(self, x):
        return x * torch.get_num_threads() + torch.zeros(2, dtype=torch.get_default_dtype())


def in_mode(mode, *args):
    """A call within a context."""

    def call(module):
        with mode():
            return module(*args)

    return call


@contextlib.contextmanager
def doubles():
    """The default dtype is another."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def deterministic():
    """Deterministic algorithms are asked for."""
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def sliced(module):
    """Arguments that share memory."""
    base = torch.ones(8)
    return module(base[0:4], base[2:6])


ONES = torch.ones(2, 2)
HOSTILE = [
    (Written(), (r(4), r(4)), [lambda m: m(torch.ones(4), torch.ones(4)), sliced]),
    (Laid(), (ONES,), [lambda m: m(ONES), lambda m: m(ONES.t()), lambda m: m(r(2, 4)[:, ::2])]),
    (
        Followed(),
        (ONES,),
        [
            lambda m: m(ONES),
            lambda m: m(torch.ones(2, 2, requires_grad=True)),
            in_mode(torch.no_grad, ONES),
            in_mode(torch.inference_mode, ONES),
        ],
    ),
    (
        Leaf(),
        (ONES.clone().requires_grad_(),),
        [
            lambda m: m(ONES.clone().requires_grad_()),
            lambda m: m(ONES.clone().requires_grad_() * 1),
            lambda m: m(ONES),
        ],
    ),
    (Surrounded(), (r(2),), [lambda m: m(torch.ones(2)), in_mode(doubles, torch.ones(2))]),
    (
        nn.Linear(2, 2),
        (ONES,),
        [
            lambda m: m(ONES),
            lambda m: m(torch.ones(3, 2)),
            lambda m: m(ONES.double()),
            lambda m: m(ONES.to_sparse()),
            lambda m: m(nn.Parameter(ONES)),
            in_mode(lambda: torch.autocast("cpu"), ONES),
            lambda m: m(ONES, ONES),
        ],
    ),
]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: type(case[0]).__name__)
def test_compiled_code_answers_as_eager_code_or_refuses(case, whole):
    """One compiled module for all calls; without `fullgraph` it refuses what the program does."""
    module, args, calls = case
    program = export(copy.deepcopy(module), args)
    uncompiled = program.module()
    run = torch.compile(program.module(), backend="eager", fullgraph=whole)
    for call in calls:
        try:
            with quietly():
                found = call(run)
        except monograph.ContractError:
            with pytest.raises(monograph.ContractError):
                call(uncompiled)
        except torch._dynamo.exc.Unsupported:
            assert whole
        else:
            torch.testing.assert_close(found, call(copy.deepcopy(module)))


def grown(value):
    """A leaf that has a gradient."""
    leaf = torch.ones(2, requires_grad=True)
    (leaf * value).sum().backward()
    return leaf


def leaf():
    """A tensor that needs a gradient."""
    return torch.ones(2, requires_grad=True)


OTHERWISE = {
    "grad_mode": torch.no_grad,
    "autocast_cache": lambda: torch.autocast("cpu", cache_enabled=False),
    "default_dtype": doubles,
    "deterministic": deterministic,
    "requires_grad": (torch.ones(2), leaf()),
    "needed": (torch.ones(2), leaf()),
    "needed_inside": (torch.ones(2), leaf()),
    "followed": (leaf(), torch.ones(2)),
    "followed_inside": (leaf(), torch.ones(2)),
    "has_no_grad": (leaf(), grown(2)),
    "is_parameter": (torch.ones(2), nn.Parameter(torch.ones(2))),
}
"""For each question that Dynamo is trusted with: what changes the answer."""


@pytest.mark.parametrize("question", sorted(GUARDED_BY_DYNAMO))
def test_dynamo_asks_again(question):
    """Compiled code answers another call with another answer, so these stay in compiled code."""
    other = OTHERWISE[question]
    code = {**SURROUNDINGS, **OF_TENSORS}[question].code.format("x")
    names = names_of_questions()
    first, then = other if isinstance(other, tuple) else (torch.ones(2), torch.ones(2))
    names["first"] = eval(code, dict(names), {"x": first})
    exec(f"def asked(x):\n    return x + 1 if ({code}) == first else x - 1", names)
    run = torch.compile(names["asked"], backend="eager", fullgraph=True)
    around = contextlib.nullcontext if isinstance(other, tuple) else other
    with warnings.catch_warnings(action="ignore"):
        torch.testing.assert_close(run(first), names["asked"](first))
        with around():
            torch.testing.assert_close(run(then), names["asked"](then))
