"""Every probe, in every form of a program, agrees with eager at each call or is refused by name."""

from dataclasses import replace

import pytest

from tests.contract import (  # noqa: F401  importing registers the probes
    adversarial,
    constants,
    containers,
    copies_or_views,
    data,
    effects,
    environment_answers,
    from_before,
    gradients,
    hostile,
    layouts,
    lowered,
    lowering_properties,
    memory,
    merged,
    metadata,
    modes,
    numbers,
    outside,
    overlaps,
    reduced,
    sizes,
    state_names,
    structures,
    tensor_types,
)
from tests.contract.forms import FORMS, MISSING, WANTED, as_module, unchecked
from tests.contract.judging import (
    AGREES,
    FAILS,
    REFUSED,
    WRONG,
    captured,
    captured_once,
    exported,
    judged,
)
from tests.contract.known import CALLS_REFUSED, EXPORTS_REFUSED
from tests.contract.registry import PROBES, ROWS

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom",
    "ignore:Exception in thread",
    "ignore:The .grad attribute of a Tensor that is not a leaf",
    "ignore:.*non-writable",
    "ignore:.torch.jit.script. is",
    "ignore:None of the inputs have requires_grad=True",
    "ignore:An output with one or more elements was resized",
    "ignore:.torch._utils.is_compiling. is deprecated",
    "ignore:Sparse CSR tensor support is in beta state",
    "ignore:.*Sparse invariant checks",
)


@pytest.mark.parametrize("form", WANTED)
def test_every_form_is_tried(form):
    """A form that is not tried says that what makes it is not there."""
    if form in MISSING:
        pytest.skip(f"nothing makes a program {form} yet")
    assert form in FORMS


def test_every_row_is_probed():
    """Each row of the table has programs; together there are at least 120."""
    probed = [probe.row for probe in PROBES.values()]
    assert {row for row in ROWS if probed.count(row) < 8} == set()
    assert len(probed) >= 120


def test_what_is_listed_exists():
    """The lists name probes and calls that are there."""
    calls = {(n, call) for n, probe in PROBES.items() for call in probe.calls}
    assert {each for listed in CALLS_REFUSED.values() for each in listed} - calls == set()
    assert {each for listed in EXPORTS_REFUSED.values() for each in listed} - PROBES.keys() == set()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_probe(probe, form):
    """Its export is as expected; each call agrees, or is refused where it may be.

    What is called as it was exported is exported here; other forms are made of copies of one.
    """
    capture = captured if form.callable_from is as_module else captured_once
    program, export = exported(probe, form, capture)
    if probe.name in EXPORTS_REFUSED.get(form.name, {}):
        assert (export.kind, export.why) == (REFUSED, EXPORTS_REFUSED[form.name][probe.name])
        return
    if program is None or (probe.refused and not form.is_strict):
        assert export.kind == REFUSED, str(export)
        assert export.why in probe.refused, export.message or str(export)
        return
    verdicts = {name: judged(probe, program, form, call) for name, call in probe.calls.items()}
    refused = CALLS_REFUSED.get(form.name, {})
    wrong = [
        problem(probe, name, verdict, refused.get((probe.name, name)))
        for name, verdict in verdicts.items()
    ]
    assert [text for text in wrong if text] == []


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_without_checks_what_must_agree_agrees(probe):
    """The checks do nothing but refuse: calls that agree with them agree without."""
    form = replace(FORMS["plain"], name="unchecked", callable_from=unchecked)
    program, _ = exported(probe, form, captured_once)
    if program is None or probe.refused:
        return
    for name in probe.must:
        verdict = judged(probe, program, form, probe.calls[name])
        assert verdict.kind == AGREES, f"`{name}` {verdict}"


def problem(probe, name, verdict, refused) -> str:
    """What is not as it must be with one call, "" if nothing; `refused` names its refusal."""
    if refused is not None:
        expected = (verdict.kind, verdict.why) == (REFUSED, refused)
        return "" if expected else f"`{name}` {verdict}, and not refused as {refused}"
    if verdict.kind in (WRONG, FAILS):
        return f"`{name}` {verdict}"
    if name in probe.must and verdict.kind != AGREES:
        return f"`{name}` must agree: {verdict}"
    if name == "example" and verdict.raised and not probe.refused:
        return "eager raises at the example"
    return ""
