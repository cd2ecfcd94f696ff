"""Sizes of 0 and 1 are thought through by rules alone where that is enough, as a run would say."""

import itertools
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph
from monograph import ContractError, Dim, MonographError
from monograph.capture.size_probing import probing
from monograph.capture.size_probing.retracing import Different
from tests.seeding import reseed

OPERATORS = {
    "add": lambda x, y: x + y[0],
    "matmul": lambda x, y: x @ y.T,
    "linear": lambda x, y: F.linear(x + 1, y),
    "bmm": lambda x, y: x[None] @ y.T[None],
    "einsum": lambda x, y: torch.einsum("nd,md->nm", x, y),
    "dot": lambda x, y: x[:, 0].dot(x[:, 1]) + y,
    "softmax": lambda x, y: (x @ y.T).softmax(-1),
    "softmax_first": lambda x, y: (x @ y.T).softmax(0),
    "log_softmax": lambda x, y: (x @ y.T).log_softmax(0),
    "sum": lambda x, y: x.sum(0) + y,
    "mean": lambda x, y: x.mean(0) + y.mean(),
    "var": lambda x, y: x.var(0) + y,
    "amax": lambda x, y: x.amax(0) + y,
    "argmax": lambda x, y: x.argmax(0),
    "max_dim": lambda x, y: x.max(0).values + y,
    "median": lambda x, y: x.median(0).values + y,
    "cumsum": lambda x, y: x.cumsum(0),
    "logsumexp": lambda x, y: x.logsumexp(0) + y,
    "norm": lambda x, y: x.norm(dim=0) + y,
    "prod": lambda x, y: x.prod(0) + y,
    "any": lambda x, y: (x > 0).any(0),
    "count": lambda x, y: (x > 0).count_nonzero(0),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, x + 1]),
    "flip": lambda x, y: x.flip(0),
    "roll": lambda x, y: x.roll(1, 0),
    "repeat": lambda x, y: x.repeat(2, 1),
    "tile": lambda x, y: x.tile(2),
    "interleave": lambda x, y: x.repeat_interleave(2, 0),
    "squeeze": lambda x, y: x.squeeze(0),
    "squeeze_all": lambda x, y: x.squeeze(),
    "unsqueeze": lambda x, y: x.unsqueeze(1) * y,
    "expand": lambda x, y: x[:1].expand(y.shape[0], -1),
    "expand_to": lambda x, y: x.unsqueeze(0).expand(y.shape[0], -1, -1),
    "view_rest": lambda x, y: x.view(x.shape[0], -1),
    "view_heads": lambda x, y: x.view(x.shape[0], -1, 2),
    "flatten": lambda x, y: x.flatten() * 2,
    "reshape": lambda x, y: x.T.reshape(-1),
    "reshape_back": lambda x, y: x.T.reshape(4, x.shape[0]),
    "transposed_view": lambda x, y: x.T.contiguous().view(2, 2, -1),
    "unflatten": lambda x, y: x.unflatten(1, (2, 2)),
    "first": lambda x, y: x[0] + y,
    "last": lambda x, y: x[-1] + y,
    "second": lambda x, y: x[1] + y,
    "slice": lambda x, y: x[1:] * 2,
    "difference": lambda x, y: x[1:] - x[:-1],
    "strided": lambda x, y: x[::2] + 1,
    "narrow": lambda x, y: x.narrow(0, 0, 1),
    "chunk": lambda x, y: x.chunk(2, 1)[0],
    "split": lambda x, y: x.split(2)[0],
    "unbind": lambda x, y: x.unbind(1)[0] + 1,
    "tril": lambda x, y: (x @ y.T).tril(),
    "triu": lambda x, y: (x @ y.T).triu(1),
    "diagonal": lambda x, y: (x @ x.T).diagonal(),
    "trace": lambda x, y: (x @ x.T).trace() + y,
    "topk": lambda x, y: x.topk(1, 0).values,
    "sort": lambda x, y: x.sort(0).values,
    "gather": lambda x, y: x.gather(0, torch.zeros(1, 4, dtype=torch.int64)) + y,
    "index_select": lambda x, y: x.index_select(0, torch.tensor([0])) + y,
    "where": lambda x, y: torch.where(x[0] > 0, y, 0.0),
    "masked": lambda x, y: x.masked_fill(x > 0, 1),
    "pad": lambda x, y: F.pad(x, (0, 0, 1, 1)),
    "one_hot": lambda x, y: F.one_hot(x.argmax(1), 4),
    "layer_norm": lambda x, y: F.layer_norm(x, (4,)),
    "batch_norm": lambda x, y: F.batch_norm(x, None, None, training=True),
    "normalize": lambda x, y: F.normalize(x, dim=0),
    "cdist": lambda x, y: torch.cdist(x, y) + 1,
    "conv1d": lambda x, y: F.conv1d(x.T[None], torch.ones(3, 4, 2)) + 1,
    "max_pool": lambda x, y: F.max_pool1d(x.T, 2),
    "mean_pool": lambda x, y: F.avg_pool1d(x.T, 2),
    "adaptive": lambda x, y: F.adaptive_avg_pool1d(x.T, 2),
    "interpolate": lambda x, y: F.interpolate(x.T[None], scale_factor=2),
    "attention": lambda x, y: (
        F.scaled_dot_product_attention(*(x.view(1, -1, 2, 2).transpose(1, 2),) * 3, is_causal=True)
        .transpose(1, 2)
        .reshape(1, -1, 4)
    ),
    "broadcast": lambda x, y: x[:, None] + y[None],
    "outer": lambda x, y: torch.outer(x[:, 0], y[:, 0]),
    "meshgrid": lambda x, y: torch.meshgrid(x[:, 0], y[:, 0], indexing="ij")[0] + 1,
    "arange": lambda x, y: x + torch.arange(x.shape[0])[:, None],
    "strides": lambda x, y: x.T.clone().T @ y.T,
    "channels": lambda x, y: (x.T + 1).contiguous(),
    "diff": lambda x, y: x.diff(dim=0),
    "unfold": lambda x, y: x.unfold(0, 2, 1) + 1,
    "written": lambda x, y: x.clone().fill_(2.0).add_(y[0]),
    "put": lambda x, y: x.clone().index_fill_(0, torch.tensor([0]), 1.0),
    "asks": lambda x, y: x * 2 if x.shape[0] == 1 else x + 2,
    "asks_in_vain": lambda x, y: x if x.shape[0] == 1 else x.expand(x.shape[0], -1),
    "asks_both": lambda x, y: x + 1 if x.shape[0] == y.shape[0] == 1 else x + y[:1],
    "layout": lambda x, y: x.T.view(-1) if x.T.is_contiguous() else x.T.flatten(),
}


def inputs(n, m):
    """Rows that no two sizes share."""
    reseed(n + 7 * m)
    return torch.randn(n, 4), torch.randn(m, 4)


def exported(function, hint):
    """Export with both numbers of rows left to capture, or refuse."""
    module = type("Program", (nn.Module,), {"forward": staticmethod(function)})()
    try:
        return monograph.export(module, inputs(3, 5), dynamic_shapes=({0: hint}, {0: hint}))
    except MonographError as error:
        return type(error)


def accepted(program):
    """Everything that a program says about the sizes it takes."""
    if isinstance(program, type):
        return program
    left_out = [(each.path, each.value) for each in program.report.left_out]
    return sorted(map(str, program.guards)), str(program.range_constraints), left_out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATORS)
def test_the_verdict_of_a_run(name, monkeypatch):
    """With rules alone the same sizes are let in as by runs, and each agrees with eager."""
    function = OPERATORS[name]
    program = exported(function, Dim.AUTO(min=0))
    left_to_capture = exported(function, Dim.AUTO)
    monkeypatch.setattr(probing, "replayed", lambda *_: None)
    assert accepted(program) == accepted(exported(function, Dim.AUTO(min=0)))
    for taken in (program, left_to_capture):
        if isinstance(taken, type):
            continue
        for n, m in itertools.product((0, 1, 2, 5), repeat=2):
            try:
                found = taken.module()(*inputs(n, m))
            except ContractError:
                continue
            except (RuntimeError, IndexError):
                with pytest.raises((RuntimeError, IndexError)):
                    function(*inputs(n, m))
                continue
            torch.testing.assert_close(found, function(*inputs(n, m)), equal_nan=True)


def test_user_code_is_not_run_where_rules_know():
    """What an operator asks is asked again of its rule; what user code asks, of user code."""
    calls = threading.calls = []  # where no capture of plain Python looks

    class Counts(nn.Module):
        def forward(self, x):
            threading.calls.append(x.shape)
            heads = x.view(1, -1, 2, 2).transpose(1, 2)
            mixed = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
            return mixed.transpose(1, 2).reshape(1, -1, 4)

    program = monograph.export(
        Counts(), (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n")},), strict=False
    )
    assert len(calls) == 1
    assert not program.guards
    assert program.module()(torch.randn(0, 4)).shape == (1, 0, 4)


def test_a_refusal_that_user_code_caught_needs_a_run():
    """It went on by the example, so nobody else can say what it would do elsewhere."""

    class Careless(nn.Module):
        def forward(self, x, y):
            try:
                x = x[:2] + torch.ones(3, 4)
            except Exception:  # noqa: BLE001
                x = x + 1
            return x[0] + y

    seen = []
    before = probing.replayed
    probing.replayed = lambda captured, fixed: seen.append(before(captured, fixed)) or seen[-1]
    try:
        monograph.export(
            Careless(),
            inputs(5, 3),
            dynamic_shapes=({0: Dim("n")}, {0: Dim("m")}),
            strict=False,
        )
    except (MonographError, Different):
        pass
    finally:
        probing.replayed = before
    assert all(each is None for each in seen)
