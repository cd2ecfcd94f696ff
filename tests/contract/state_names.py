"""Row `constant`: state whose names mean something to Python, to torch, or to generated code.

Names of modules, parameters and buffers are any text that `nn.Module` takes. A program keeps them
as the keys of its state, whatever its own code calls the values.
"""

import torch
from torch import nn

from tests.contract.registry import probe

KEYS = {
    "keyword": ("import", "class", "lambda"),
    "constant": ("None", "True", "__debug__"),
    "soft_keyword": ("match", "case", "_"),
    "builtin": ("print", "getattr", "len"),
    "generated": ("add", "_guards", "_guards_fn", "L__self__", "p_weight", "linear_1"),
    "of_the_code": ("self", "torch", "device", "inf", "nan", "flat_inputs", "pytree"),
    "of_outputs": ("output", "args", "kwargs", "x", "x_1"),
    "number": ("0", "1", "01"),
    "digits": ("1x", "x1", "2_0"),
    "folded": ("\uff58", "\ufb01", "\uff4c\uff49\uff4e\uff45\uff41\uff52", "\u212b"),
    "unicode": ("\u00e9t\u00e9", "\u03c3", "\u91cd\u307f", "\U0001f600"),
    "punctuation": ("a-b", "a b", "a/b", "a:b", "a@1", "<lambda>"),
    "separator": ("a,b", "a;b", "x=1"),
    "quote": ('a"b', "a'b", "a\\b", "{x}", "%s"),
    "spaces": ("a\nb", "a\tb", " "),
    "private": ("__x", "__class_getitem__", "_x"),
    "of_graph_modules": ("graph", "code", "meta", "print_readable", "recompile", "_graph", "_code"),
    "long": ("x" * 300,),
}
"""Names by kind."""


def example():
    """Give one small input."""
    return (torch.randn(2, 3),)


def entered(kind: str, what: str, build) -> None:
    """Enter a program that holds something under each of the names."""
    made = type(f"{what}_{kind}", (nn.Module,), {"__init__": build, "forward": FORWARDS[what]})
    probe("constant", example, agrees={"again": example})(made)


def through_modules(self, x):
    """Call every child."""
    for each in self.inner.children():
        x = each(x)
    return x


def through_tensors(self, x):
    """Add up all parameters and buffers, and count the calls in the buffers."""
    for each in list(self.parameters()):
        x = x * each
    for each in list(self.buffers()):
        each.add_(1)
        x = x + each
    return x


FORWARDS = {"modules": through_modules, "tensors": through_tensors}


for _kind, _names in KEYS.items():

    def with_modules(self, names=_names):
        """Hold modules in a dictionary, where it takes their names."""
        nn.Module.__init__(self)
        self.inner = nn.Module()
        for name in names:
            self.inner.add_module(name, nn.Linear(3, 3))

    def with_tensors(self, names=_names):
        """Hold a parameter and a buffer in turn."""
        nn.Module.__init__(self)
        for at, name in enumerate(names):
            if at % 2:
                self.register_buffer(name, torch.randn(3))
            else:
                self.register_parameter(name, nn.Parameter(torch.randn(3)))

    entered(_kind, "modules", with_modules)
    entered(_kind, "tensors", with_tensors)


@probe("constant", example, agrees={"again": example})
class ExpertsByKeyword(nn.Module):
    """A dictionary of experts, as configurations name them."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleDict({key: nn.Linear(3, 3) for key in ("import", "class", "None")})
        self.scales = nn.ParameterDict({key: torch.randn(3) for key in ("in", "is", "not")})

    def forward(self, x):
        """Add what each says."""
        said = sum(expert(x) for expert in self.experts.values())
        return said * sum(self.scales.values())


@probe("constant", example, agrees={"again": example})
class DotsAndLines(nn.Module):
    """Names that differ by a dot and a line: `a.b`, `a_b`, `a.b_c`, `a_b.c`, `a_b_c`."""

    def __init__(self):
        super().__init__()
        self.a = nn.Module()
        self.a.register_buffer("b", torch.randn(3))
        self.a.register_buffer("b_c", torch.randn(3))
        self.a_b = nn.Module()
        self.a_b.register_buffer("c", torch.randn(3))
        self.register_buffer("a_b_c", torch.randn(3))
        self.register_buffer("a_b_", torch.randn(3))

    def forward(self, x):
        """Write to one, read all."""
        self.a_b_c.add_(x.sum(0))
        return x + self.a.b * 2 + self.a.b_c * 3 + self.a_b.c * 4 + self.a_b_c * 5 + self.a_b_


@probe("constant", example, agrees={"again": example})
class PrefixesOfOneAnother(nn.Module):
    """Names that begin as others do."""

    def __init__(self):
        super().__init__()
        self.n = nn.Linear(3, 3)
        self.n1 = nn.Linear(3, 3)
        self.n_ = nn.Linear(3, 3)
        self.register_buffer("n_weight", torch.randn(3))
        self.register_buffer("n1_weight", torch.randn(3))

    def forward(self, x):
        """Use all."""
        return self.n_(self.n1(self.n(x))) + self.n_weight - self.n1_weight


@probe("constant", example, agrees={"again": example})
class LikeOtherPrograms(nn.Module):
    """State of names as other programs give their placeholders, in the places of others."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.p_weight = nn.Parameter(torch.randn(3))
        self.register_buffer("b_weight", torch.randn(3))
        self.register_buffer("c_lifted_tensor_0", torch.randn(3))
        self.register_buffer("lifted_tensor_0", torch.randn(3))

    def forward(self, weight):
        """Take an argument named as a parameter, and a literal."""
        made = weight * self.weight + self.p_weight - self.b_weight
        return made + torch.tensor([1.0, 2.0, 3.0]) * self.c_lifted_tensor_0 + self.lifted_tensor_0


@probe("constant", example, agrees={"again": example})
class SharedUnderKeywords(nn.Module):
    """One module under two names that Python reads as words of its own."""

    def __init__(self):
        super().__init__()
        inner = nn.Linear(3, 3)
        self.inner = nn.ModuleDict({"for": inner, "while": inner, "norm": nn.LayerNorm(3)})

    def forward(self, x):
        """Call both."""
        return self.inner["while"](self.inner["norm"](self.inner["for"](x)))


@probe("constant", example, agrees={"again": example})
class BranchOverKeywords(nn.Module):
    """State of such names, used in a region."""

    def __init__(self):
        super().__init__()
        self.sides = nn.ModuleDict({"if": nn.Linear(3, 3), "else": nn.Linear(3, 3)})
        self.register_buffer("self", torch.randn(3))

    def forward(self, x):
        """One side or the other, without gradients."""
        with torch.no_grad():
            taken = torch.cond(x.sum() > 0, self.sides["if"], self.sides["else"], (x,))
        return taken * vars(self)["_buffers"]["self"]


@probe("constant", lambda: ((), {"self_": torch.randn(3), "class_": torch.randn(3)}))
class WhateverArguments(nn.Module):
    """Arguments, too."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kwargs", torch.randn(3))
        self.register_buffer("args", torch.randn(3))

    def forward(self, **torch_):
        """Add up what is given."""
        return sum(torch_.values()) + self.args * self.kwargs
