"""What operators do to memory is what the aliasing table says: whose results share, who writes."""

import warnings

import pytest
import torch

from monograph.abstract.aliasing import ARGUMENT, FRESH, VIEW, aliasing_of
from monograph.abstract.layout_origin import CONTIGUOUS, GAPPED, IN_FORMATS, makes_contiguous
from monograph.abstract.tensor_type import type_of
from monograph.host.dispatch import share_memory
from monograph.integers import Facts, use
from tests.laws.rule_check import (
    OperatorWatch,
    flat,
    is_composite,
    is_ordinary,
    load_rules,
    mapped,
    op_samples,
    own_samples,
)

pytestmark = pytest.mark.laws


class Watch(OperatorWatch):
    """Compares each operator it is told of with the table; opens composite ones besides."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not is_ordinary(args, kwargs):
            return func(*args, **kwargs)
        names = [a.name for a in func._schema.arguments]
        bound = dict(zip(names, args, strict=False)) | kwargs
        given = {name: list(tensors_in(value)) for name, value in bound.items()}
        before = {name: [bits(t) for t in tensors] for name, tensors in given.items()}
        known = [type_of(t) for tensors in given.values() for t in tensors]
        result = func(*args, **kwargs)
        self.seen.add(func)
        ways = (transposed, channels_last, expanded)
        for text in layout_faults(func, args, kwargs, ways, contiguous_ranks(func)):
            self.faults.setdefault(str(func), text)
        is_pointwise = torch.Tag.pointwise in func.tags and not func._schema.is_mutable
        if is_pointwise and "memory_format" not in kwargs:
            for text in layout_faults(func, args, kwargs, (in_rows,)):
                self.faults.setdefault(str(func), text)
        with use(Facts()):
            for text in faults(func, bound, given, before, result):
                self.faults.setdefault(str(func), f"{text}: {known} {bound.keys()}")
        if is_composite(func) and not func._schema.is_mutable:
            with self:
                func.decompose(*args, **kwargs)
        return result


def tensors_in(value):
    """The tensors among nested values."""
    return (leaf for leaf in flat([value]) if isinstance(leaf, torch.Tensor))


def bits(tensor):
    """What its memory holds."""
    return tensor.detach().resolve_conj().resolve_neg().clone()


def is_changed(tensor, before):
    """Whether a tensor holds something else than before."""
    now = bits(tensor)
    return now.shape != before.shape or not torch.equal(now.nan_to_num(), before.nan_to_num())


def contiguous_ranks(func):
    """Of how many dimensions results may be that are contiguous by law."""
    name = func._schema.name.removeprefix("aten::")
    if makes_contiguous(func):
        return range(99)
    if func.namespace != "aten" or name in GAPPED or aliasing_of(func).may_alias:
        return ()
    return {*range(99)} - {4, 5} if name in IN_FORMATS else (0, 1)


def layout_faults(func, args, kwargs, ways, ranks=range(99)):
    """The strides of results that are not contiguous, for arguments that lie otherwise."""
    for how in ways if ranks else ():
        given = mapped(args, lambda v, how=how: how(v) if isinstance(v, torch.Tensor) else v)
        for result in tensors_in(func(*given, **kwargs)):
            if result.dim() in ranks and not result.is_contiguous():
                yield f"{how.__name__}: result of {tuple(result.shape)} has {result.stride()}"


def transposed(tensor):
    """The same values, the last two dimensions swapped in memory."""
    return tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor


def channels_last(tensor):
    """The same values, as convolutions like images, or with the first dimension last."""
    if tensor.dim() == 4:
        return tensor.contiguous(memory_format=torch.channels_last)
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0) if tensor.dim() else tensor


def expanded(tensor):
    """Every other element of rows that are longer."""
    return tensor.repeat_interleave(2, -1)[..., ::2] if tensor.dim() else tensor


def in_rows(tensor):
    """The same values, contiguous, with stride 1 where a size is 1."""
    rows = tensor.contiguous()
    pairs = zip(rows.shape, rows.stride(), strict=True)
    return rows.as_strided(rows.shape, [1 if size == 1 else step for size, step in pairs])


def faults(func, bound, given, before, result):
    """What a call did, in words, that the table does not say."""
    table = aliasing_of(func)
    written = [t for value in table.writes((), bound) for t in tensors_in(value)]
    for name, tensors in given.items():
        for tensor, old in zip(tensors, before[name], strict=True):
            is_written = any(each is tensor or share_memory(each, tensor) for each in written)
            if not is_written and is_changed(tensor, old):
                yield f"writes to {name}"
    results = list(result) if isinstance(result, list | tuple) else [result]
    for i, each in enumerate(results):
        for made in tensors_in(each):
            if made.layout is torch.strided:
                yield from result_faults(table, bound, given, i, made)


def result_faults(table, bound, given, i, made):
    """What one result is to the arguments, in words, if the table does not say so."""
    source = table.source_of_result(i, (), bound)
    source = source if isinstance(source, torch.Tensor) else None
    for name, tensors in given.items():
        others = (t for t in tensors if t is not source and t.layout is torch.strided)
        for tensor in others:
            is_found = source is not None and share_memory(source, tensor)
            if share_memory(made, tensor) and not is_found and not table.hides_views:
                yield f"result {i} shares memory with {name}"
    if source is None or table.written:
        return
    real = ARGUMENT if made is source else VIEW if share_memory(made, source) else FRESH
    types = type_of(source), type_of(made)
    exact, loose = (table.results(*types, (), bound, lies=lies) for lies in (True, False))
    if not real <= exact and (source.numel() or real != FRESH):  # without elements, without memory
        yield f"result {i} is {real} of {table.source}, not {exact}"
    if not exact <= loose <= table.possible:
        yield f"{exact} is not within {loose}, or that not in {table.possible}"


def sweep(samples):
    """Every call of the samples, also on arguments that lie otherwise."""
    watch = Watch()
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        for _, sample in samples:
            try:
                with torch._C._AutoDispatchBelowADInplaceOrView(), watch:
                    sample()
            except Exception:  # noqa: BLE001 - torch's own samples, not our table
                continue
    return watch


def test_the_table_says_what_eager_does():
    """The first samples of each operator in PyTorch's database, and those of every rule."""
    load_rules()
    watch = sweep([*own_samples(), *op_samples([torch.float32], 2)])
    assert not watch.faults, "\n".join(f"{k}: {v}" for k, v in sorted(watch.faults.items()))
    assert len(watch.seen) > 500
    reached = {func._schema.name.removeprefix("aten::") for func in watch.seen}
    assert reached >= CONTIGUOUS
    assert reached >= {"cat", "stack"}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64, torch.bool])
def test_the_table_says_what_eager_does_at_length(dtype):
    """Many samples of each operator."""
    watch = sweep(op_samples([dtype], 20))
    assert not watch.faults, "\n".join(f"{k}: {v}" for k, v in sorted(watch.faults.items()))


def test_a_wrong_entry_is_found(monkeypatch):
    """Results of elementwise operators follow their arguments."""
    monkeypatch.setattr("monograph.abstract.layout_origin.CONTIGUOUS", {"mul"})
    assert "aten.mul.Tensor" in sweep(op_samples([torch.float32], 6, "^mul$")).faults
