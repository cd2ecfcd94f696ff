"""Programs of other corpora that are refused where branches on data are: captured here, and right.

Those corpora ask what the refusals say. Here the same programs are exported as users would.
"""

import pytest
import torch

import monograph
from tests.data import checks, documents, forms, known, models, places, sizes, values
from tests.data.harness import build as build_data
from tests.data.harness import differences
from tests.data.registry import PROGRAMS as DATA
from tests.data.registry import inputs_of
from tests.programs import data_dependent, seeds
from tests.programs.harness import (
    SEED_OF_CALL,
    SEED_OF_EXAMPLE,
    build,
    inputs_at,
    run,
    same,
    start_anew,
)
from tests.programs.registry import PROGRAMS

REGISTERING = (
    *(checks, documents, forms, known, models, places, sizes, values),
    *(data_dependent, seeds),
)
BRANCHES = {"data-dependent-branch", "data-dependent-size"}
SMALL = {name: each for name, each in PROGRAMS.items() if each.refused in BRANCHES}
OF_DATA = {name: each for name, each in DATA.items() if each.refused in BRANCHES}
STILL = {
    "branch_in": "data-dependent-branch",  # `in` asks a tensor in C
    "filter_rows": "branch-side-effect",  # how long a list is
}
"""What they are refused for nevertheless."""


@pytest.mark.parametrize("name", SMALL)
def test_small_programs(name):
    """They agree with eager on values unlike the example's, or are refused as listed."""
    program = SMALL[name]
    args, kwargs = inputs_at(program, program.sizes, SEED_OF_EXAMPLE)
    if name in STILL:
        with pytest.raises(monograph.MonographError) as caught:
            monograph.export(build(program), args, kwargs)
        assert caught.value.diagnostic.name == STILL[name]
        return
    exported = monograph.export(build(program), args, kwargs).module()
    for seed in range(SEED_OF_CALL, SEED_OF_CALL + 6):
        reference = build(program)
        start_anew(exported, reference)
        given = inputs_at(program, program.sizes, seed)
        actual, expected = run(exported, given), run(reference, given)
        if isinstance(expected, Exception):
            assert isinstance(actual, Exception)
            continue
        assert not isinstance(actual, Exception), actual
        same(expected[0], actual[0], f"the result for seed {seed}")
        same(expected[1], actual[1], f"the inputs for seed {seed}")


@pytest.mark.parametrize("name", OF_DATA)
def test_programs_that_look_at_data(name):
    """At every draw."""
    program = OF_DATA[name]
    shapes = None if program.shapes is None else program.shapes(monograph.Dim)
    module = build_data(program)
    if name in STILL:
        with pytest.raises(monograph.MonographError) as caught:
            monograph.export(module, inputs_of(program, 0), dynamic_shapes=shapes)
        assert caught.value.diagnostic.name == STILL[name]
        return
    made = monograph.export(module, inputs_of(program, 0), dynamic_shapes=shapes)
    assert not made.report.problems
    wrong, refused = differences(program, made.module)
    assert not wrong, wrong[0]
    assert not refused, refused[0]


def test_there_are_some():
    """And most are captured."""
    n_programs = len(SMALL) + len(OF_DATA)
    assert n_programs >= 15, torch.__version__
    assert len(STILL) * 3 < n_programs
