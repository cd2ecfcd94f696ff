"""Every small program, rewritten by each pass that changes no meaning, agrees with eager."""

import pytest
import torch

from monograph import export, passes
from tests.programs.harness import agree, captured_once
from tests.programs.test_programs import CAPTURED

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
)

CHANGES = {
    "one after the other": (
        passes.common_subexpressions(),
        passes.fold_constants(),
        passes.fold_batch_norm(),
        passes.dead_code(),
        passes.lift(),
    ),
    "constants alone": (passes.fold_constants(state=True),),
    "moved": (passes.move_to_device("cpu"), lambda module: module),
}


@pytest.mark.parametrize("program", CAPTURED, ids=[p.name for p in CAPTURED])
def test_rewritten(program):
    """Static or dynamic; the program that was rewritten stays as it was."""
    for dynamic in (False, True):
        if dynamic and program.refused_dynamic:
            continue
        exported = captured_once(program, dynamic=dynamic)
        text = str(exported)
        sizes = [program.sizes, *(program.sweep()[:1] if dynamic else ())]
        modules = [exported.transform(*changes).module() for changes in CHANGES.values()]
        for rewritten in modules:
            assert agree(program, rewritten, sizes[0]) in {"agrees", "raises"}
            for each in sizes[1:]:
                agree(program, rewritten, each)
        assert str(exported) == text


def test_another_dtype_is_the_models_own():
    """A program in double precision gives what the module in double precision gives."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.BatchNorm1d(4))
    program = export(module.eval(), (torch.randn(2, 3),), dynamic_shapes="input: n, 3")
    x = torch.randn(5, 3, dtype=torch.float64)
    found = program.transform(passes.to_dtype(torch.float64)).module()(x)
    torch.testing.assert_close(found, module.double()(x), rtol=1e-14, atol=1e-14)
