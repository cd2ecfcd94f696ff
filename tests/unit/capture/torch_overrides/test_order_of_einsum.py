"""In what order `einsum` contracts three operands fixes no size."""

import sys
import types

import pytest
import torch

import monograph


def contract_path(equation, *operands, shapes=False, optimize="auto"):
    """Stand in for the library's, which compares sizes; the path that it finds is a valid one."""
    del equation, optimize
    sizes = [each if shapes else tuple(each.shape) for each in operands]
    first = (0, 1) if sum(sizes[0]) > 5 else (1, 2)
    return [first, (0, 1)], "printed"


@pytest.fixture
def with_opt_einsum(monkeypatch):
    """Have torch believe that the library is installed."""
    package, module = types.ModuleType("opt_einsum"), types.ModuleType("opt_einsum.contract")
    package.contract_path = module.contract_path = contract_path
    monkeypatch.setitem(sys.modules, "opt_einsum.contract", module)
    known = torch.backends.opt_einsum.get_opt_einsum.__globals__
    known["is_available"].cache_clear()
    for name, value in (("_opt_einsum", package), ("enabled", True), ("strategy", "auto")):
        monkeypatch.setitem(known, name, value)
    yield
    known["is_available"].cache_clear()


class Three(torch.nn.Module):
    """A product of three."""

    def forward(self, x, a, b):
        return torch.einsum("bi,ij,jk->bk", x, a, b)


@pytest.mark.usefixtures("with_opt_einsum")
@pytest.mark.parametrize("strict", [True, False])
def test_the_order_fixes_no_size(strict):
    """A size that varies goes on varying."""
    a, b = torch.randn(4, 5), torch.randn(5, 2)
    rows = {0: monograph.Dim("rows")}
    program = monograph.export(
        Three(), (torch.randn(3, 4), a, b), dynamic_shapes=(rows, None, None), strict=strict
    ).module()
    for n in (1, 3, 40):
        x = torch.randn(n, 4)
        torch.testing.assert_close(program(x, a, b), Three()(x, a, b))


@pytest.mark.usefixtures("with_opt_einsum")
def test_a_size_of_data_is_none_of_its_business():
    """Nor does a size that only data tell."""

    class Masked(torch.nn.Module):
        def forward(self, x, a, b):
            return torch.einsum("bi,ij,jk->bk", x[x[:, 0] > 0], a, b)

    given = torch.randn(6, 4), torch.randn(4, 5), torch.randn(5, 2)
    program = monograph.export(Masked(), given, strict=True).module()
    torch.testing.assert_close(program(-given[0], *given[1:]), Masked()(-given[0], *given[1:]))
