"""Operators written in C++, in a library of their own, are captured as eager runs them."""

import shutil

import pytest
import torch
from torch.utils import cpp_extension

import monograph
from tests.custom.programs import Model
from tests.laws.exporting import difference_of, seen

COMPILER = shutil.which("g++") or shutil.which("clang++")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is here"),
    pytest.mark.skipif(shutil.which("ninja") is None, reason="no ninja is here"),
]

SOURCE = """
#include <torch/library.h>
#include <ATen/ATen.h>

at::Tensor scaled(const at::Tensor& x, double by) { return (x * by).contiguous(); }
at::Tensor scaled_meta(const at::Tensor& x, double by) {
  return at::empty_symint(x.sym_sizes(), x.options());
}
at::Tensor& grown_(at::Tensor& x, const std::optional<at::Tensor>& by) {
  return by.has_value() ? x.add_(*by) : x.add_(1);
}
at::Tensor repeated(const at::Tensor& x, c10::SymInt rows) {
  return at::cat(std::vector<at::Tensor>(rows.expect_int(), x)).contiguous();
}
std::vector<at::Tensor> halves(const at::Tensor& x) {
  return {x.narrow(1, 0, 1).clone(), x.narrow(1, 1, x.size(1) - 1).clone()};
}
at::Tensor composed(const at::Tensor& x) { return at::relu(x) + 1; }
at::Tensor bare(const at::Tensor& x) { return at::cat({x, x}); }

TORCH_LIBRARY(monograph_cpp, m) {
  m.def("scaled(Tensor x, float by) -> Tensor");
  m.def("grown_(Tensor(a!) x, Tensor? by=None) -> Tensor(a!)");
  m.def("repeated(Tensor x, SymInt rows) -> Tensor");
  m.def("halves(Tensor x) -> Tensor[]");
  m.def("composed(Tensor x) -> Tensor", &composed);
  m.def("bare(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(monograph_cpp, CPU, m) {
  m.impl("scaled", &scaled);
  m.impl("grown_", &grown_);
  m.impl("repeated", &repeated);
  m.impl("halves", &halves);
  m.impl("bare", &bare);
}
TORCH_LIBRARY_IMPL(monograph_cpp, Meta, m) { m.impl("scaled", &scaled_meta); }
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    """The operators, compiled; those without a meta kernel in C++ have a fake one in Python."""
    cpp_extension.load_inline(
        "monograph_cpp",
        SOURCE,
        extra_cflags=["-O0"],
        build_directory=str(tmp_path_factory.mktemp("compiled")),
        is_python_module=False,
    )
    register = torch.library.register_fake
    register("monograph_cpp::repeated", lambda x, n: x.new_empty(x.shape[0] * n, x.shape[1]))
    register("monograph_cpp::grown_", lambda x, by=None: x)
    register(
        "monograph_cpp::halves",
        lambda x: [x.new_empty(x.shape[0], 1), x.new_empty(x.shape[0], x.shape[1] - 1)],
    )
    return torch.ops.monograph_cpp


def written(ops, x):
    """A copy that the operator writes to, twice."""
    y = x.clone()
    ops.grown_(y)
    return ops.grown_(y, x) * 2, y


FORWARDS = {
    "a meta kernel in C++": lambda ops, x: ops.scaled(x, 2.5) + 1,
    "a fake kernel in Python": lambda ops, x: ops.repeated(x, 3).sum(0),
    "a size as argument": lambda ops, x: ops.repeated(x, x.shape[1]),
    "a list": lambda ops, x: torch.cat(ops.halves(x), 1) * 2,
    "composed": lambda ops, x: ops.composed(x),
    "writing": written,
    "writing to the input": lambda ops, x: ops.grown_(x).sum(),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FORWARDS)
def test_operators_of_a_library(ops, name, dynamic, strict):
    """At the example and at other sizes, as recorded and lowered."""

    def forward(x):
        return FORWARDS[name](ops, x)

    auto = monograph.Dim.AUTO
    shapes = {"inputs": ({0: auto, 1: auto},)} if dynamic else None
    program = monograph.export(
        Model(forward), (torch.randn(4, 3),), dynamic_shapes=shapes, strict=strict
    )
    for form in (program.module(), program.run_decompositions().module()):
        for size in ((4, 3), (7, 5), (2, 2))[: 3 if dynamic else 1]:
            x = torch.randn(*size)
            expected, actual = seen(Model(forward), (x,), {}), seen(form, (x,), {})
            assert not isinstance(expected, Exception), expected
            assert not isinstance(actual, Exception), actual
            assert not difference_of(expected, actual), (size, difference_of(expected, actual))


def test_one_without_a_fake_kernel(ops):
    """The refusal has a function to paste, found by running the operator."""
    with pytest.raises(monograph.UnsupportedError) as caught:
        monograph.export(Model(lambda x: ops.bare(x) + 1), (torch.randn(4, 3),))
    assert caught.value.diagnostic.name == "unsupported-operator"
    text = str(caught.value)
    assert '@torch.library.register_fake("monograph_cpp::bare")' in text
    assert "x.new_empty((x.shape[0] * 2, x.shape[1]))" in text


def test_the_check_takes_them(ops):
    """`check_custom_op` has nothing to say of them."""
    monograph.check_custom_op(ops.scaled, (torch.randn(4, 3), 2.0))
    monograph.check_custom_op(ops.repeated, (torch.randn(4, 3), 2))
    monograph.check_custom_op(ops.halves, (torch.randn(4, 3),))
