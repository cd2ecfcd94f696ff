"""AdditionalInputs: what differs is dynamic, and the program accepts what was added."""

import dataclasses

import pytest
import torch

import monograph
from monograph import AdditionalInputs, ContractError, Dim, SpecError, export


@dataclasses.dataclass
class D:
    b: bool
    i: int
    f: float
    t: torch.Tensor


monograph.register_dataclass(D)


class Sum(torch.nn.Module):
    def forward(self, d):
        return d.i + d.f + d.t


def added(*inputs):
    """AdditionalInputs with these."""
    more = AdditionalInputs()
    for each in inputs:
        more.add(each)
    return more


def test_the_documented_program():
    """A size and an int differ; a flag and a float do not."""
    first = (D(True, 3, 3.0, torch.ones(3)),)
    second = (D(True, 4, 3.0, torch.ones(4)),)
    more = added(first, second)
    assert more.dynamic_shapes(Sum(), first) == {"d": [None, Dim.DYNAMIC, None, (Dim.DYNAMIC,)]}
    module = export(Sum(), first, dynamic_shapes=more).module()
    for i, size in ((4, 4), (-2, 9), (0, 1)):
        inputs = D(True, i, 3.0, torch.randn(size))
        assert torch.equal(module(inputs), Sum()(inputs))
    with pytest.raises(ContractError):
        module(D(True, 4, 2.0, torch.ones(4)))


def test_it_says_what_torch_says():
    """The same structure; Dim.DYNAMIC in the same places."""

    def forward(x, *rest, n, **more):
        """Take everything."""

    calls = [(({"a": torch.ones(2, k)}, [k, "s"]), {"n": torch.ones(k, k), "m": 3}) for k in (2, 3)]
    theirs, ours = torch.export.AdditionalInputs(), AdditionalInputs()
    theirs.add(*calls[1])
    ours.add(*calls[1])
    found = ours.dynamic_shapes(forward, *calls[0])
    expected = theirs.dynamic_shapes(forward, *calls[0])
    expected.update(expected.pop("more"))
    hint = repr(torch.export.Dim.DYNAMIC)
    assert repr(found) == repr(expected).replace(hint, "Dim.DYNAMIC")


def test_every_other_difference_is_refused_with_its_path():
    """Flags and floats, in one error."""
    first = (D(True, 3, 3.0, torch.ones(3)),)
    with pytest.raises(SpecError) as refused:
        export(Sum(), first, dynamic_shapes=added((D(False, 3, 2.0, torch.ones(3)),)))
    assert refused.value.diagnostic.name == "spec-calls-differ"
    assert [cause.label for cause in refused.value.diagnostic.causes] == [
        "d.b: True, False",
        "d.f: 3.0, 2.0",
    ]


class Bounded(torch.nn.Module):
    def forward(self, x, scale=1.0):
        return x * scale if x.shape[0] <= 8 else x


def test_the_program_accepts_what_was_added_or_the_export_fails():
    """The branch that the example takes must be that of the others."""
    export(Bounded(), (torch.ones(3),), dynamic_shapes=added((torch.ones(8),)))
    with pytest.raises(ContractError, match="x"):
        export(
            Bounded(),
            (torch.ones(3),),
            dynamic_shapes=added((torch.ones(9),)),
            control_flow="refuse",
        )


def test_verify_checks_a_program():
    """By its contract; nothing is computed."""
    program = export(Bounded(), (torch.ones(3),), {"scale": 2.0})
    more = AdditionalInputs()
    more.add((torch.ones(3),), {"scale": 2.0})
    more.verify(program)
    more.add((torch.ones(3),), {"scale": 3.0})
    with pytest.raises(ContractError, match="scale"):
        more.verify(program)
    more = added((torch.ones(3), 2.0, 5))
    with pytest.raises(ContractError):
        more.verify(program)


def test_inputs_are_a_tuple_and_a_dict():
    """As for export."""
    for args, kwargs in ((torch.ones(3), None), ([torch.ones(3)], None), ((), (1,))):
        with pytest.raises(SpecError) as refused:
            AdditionalInputs().add(args, kwargs)
        assert refused.value.diagnostic.name == "args-not-a-tuple"
