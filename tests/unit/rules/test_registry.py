"""What may stand in the registry: rules that fit their schemas, and laws that several share."""

import inspect
from collections import defaultdict

import pytest
import torch

from monograph.rules import RULES
from monograph.rules.registry import Registry, shared_rule

aten = torch.ops.aten


def test_every_parameter_of_a_law_is_some_operators():
    """A misspelt one would keep its default for ever."""
    shared = defaultdict(set)
    for rule in RULES.rules():
        law = getattr(rule.function, "__wrapped__", None)
        if law is not None:
            names = {argument.name for argument in rule.overload._schema.arguments}
            shared[law] |= names | {"x"}
            shared[law] |= set(inspect.getclosurevars(rule.function).nonlocals["given"])
    assert shared
    for law, names in shared.items():
        parameters = inspect.signature(law).parameters.values()
        read = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
        assert read <= names | {f"{name}_" for name in names}, law


def test_a_law_whose_parameter_has_no_value_is_refused():
    """Neither the schema nor the line of the table gives it."""
    with pytest.raises(TypeError, match="the schema has no `dims`"):

        @shared_rule(aten._test_serialization_subcmul.default)
        def law(x, dims):
            return x


def test_a_law_gets_what_it_names(monkeypatch):
    """By position or keyword, with the schema's defaults, and nothing else."""
    own = Registry()
    monkeypatch.setattr("monograph.rules.registry.RULES", own)
    heard = []
    overload = aten._test_ambiguous_defaults.a

    @shared_rule(overload, op="test")
    def law(dummy, b, op, extra=3):
        heard.append((dummy, b, op, extra))

    function = own.find(overload)
    function("t", 5)
    function("t", a=5, b=7)
    assert heard == [("t", 1, "test", 3), ("t", 7, "test", 3)]
