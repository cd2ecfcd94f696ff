"""One rule per operator: a small pure function from argument types to result types.

Law: what stands in the registry was compared with the operator's own schema when it was registered,
so a rule with a misspelt parameter or another default cannot wait for a user to find it.
"""

from __future__ import annotations

import inspect
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.host.dispatch import schema_of
from monograph.host.operator_types import overload_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.host.operator_types import OpOverload

RuleFunction = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A registered rule: the overload, the function, and where it stands."""

    overload: OpOverload
    function: Callable[..., Any]
    file: str
    line: int


class Registry:
    """Rules by identity of the overload (hashing an OpOverload runs Python)."""

    def __init__(self) -> None:
        self._by_id: dict[int, Rule] = {}
        self.watchers: list[Callable[[], None]] = []
        """Who keeps what was found here, and forgets it when a rule is added."""

    def add(self, rule: Rule) -> None:
        """Raises ValueError on a second rule for one operator."""
        before = self._by_id.get(id(rule.overload))
        if before is not None:
            message = (
                f"{rule.overload} has a rule already at {before.file}:{before.line}; "
                f"the second stands at {rule.file}:{rule.line}"
            )
            raise ValueError(message)
        self._by_id[id(rule.overload)] = rule
        for forget in self.watchers:
            forget()

    def find(self, overload: OpOverload) -> Callable[..., Any] | None:
        """The rule's function, or None."""
        rule = self._by_id.get(id(overload))
        return None if rule is None else rule.function

    def rules(self) -> list[Rule]:
        """All rules, by name of the operator."""
        return sorted(self._by_id.values(), key=lambda rule: str(rule.overload))


RULES = Registry()


def rule(*operators: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the rule of each operator: an overload, or a custom operator.

    A rule gets a `TensorType` for each tensor (shape, dtype, device), and a number or an expression
    for each size; it returns the types of the results.

    The function's parameters equal the schema's: same names (`self` is written `x`, a Python
    keyword gets a trailing underscore), order, defaults and keyword-only marks. An overload may
    have fewer parameters than the function where the function's extra ones have defaults.

    Raises: TypeError where function and schema differ, ValueError on a second rule.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        code = function.__code__
        for overload in map(overload_of, operators):
            check_signature(function, overload)
            RULES.add(Rule(overload, function, code.co_filename, code.co_firstlineno))
        return function

    return register


def find_rule(overload: OpOverload) -> Callable[..., Any] | None:
    """The rule of an operator, or None."""
    return RULES.find(overload)


def check_signature(function: Callable[..., Any], overload: OpOverload) -> None:
    """Compare a rule's parameters with the operator's schema.

    Raises: TypeError that shows both.
    """
    wanted = _schema_parameters(overload)
    parameters = inspect.signature(function).parameters
    for name, (default, keyword_only) in wanted.items():
        parameter = parameters.get(name)
        if parameter is None:
            raise _mismatch(function, overload, f"parameter `{name}` is missing")
        if (parameter.kind is parameter.KEYWORD_ONLY) != keyword_only:
            raise _mismatch(function, overload, f"`{name}` differs in being keyword-only")
        if not _same_default(parameter.default, default):
            raise _mismatch(
                function,
                overload,
                f"`{name}` defaults to {parameter.default!r}, the schema says {default!r}",
            )
    _check_order_and_extras(function, overload, wanted, parameters)


def _check_order_and_extras(
    function: Callable[..., Any],
    overload: OpOverload,
    wanted: Mapping[str, tuple[Any, bool]],
    parameters: Mapping[str, inspect.Parameter],
) -> None:
    shared = [name for name in parameters if name in wanted]
    if shared != list(wanted):
        raise _mismatch(function, overload, f"the order is {shared}")
    for name, parameter in parameters.items():
        if name not in wanted and parameter.default is parameter.empty:
            raise _mismatch(function, overload, f"the schema has no `{name}`")
    positional = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    wanted_positional = [n for n, (_, keyword_only) in wanted.items() if not keyword_only]
    if positional[: len(wanted_positional)] != wanted_positional:
        raise _mismatch(function, overload, f"its positional parameters are {positional}")


def _schema_parameters(overload: OpOverload) -> dict[str, tuple[Any, bool]]:
    """Name to (default, keyword-only), as a rule writes them."""
    return {
        _rule_name(argument.name): (
            argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
            argument.kwarg_only,
        )
        for argument in schema_of(overload).arguments
    }


def _rule_name(name: str) -> str:
    if name == "self":
        return "x"
    return f"{name}_" if keyword.iskeyword(name) else name


def _same_default(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, tuple) and isinstance(theirs, list):
        return list(ours) == theirs
    if isinstance(theirs, int) and isinstance(ours, torch.memory_format | torch.dtype):
        return True  # schemas store enum defaults as numbers
    return type(ours) is type(theirs) and bool(ours == theirs)


def _mismatch(function: Callable[..., Any], overload: OpOverload, reason: str) -> TypeError:
    code = function.__code__
    return TypeError(
        f"rule {function.__name__} at {code.co_filename}:{code.co_firstlineno} does not fit "
        f"{schema_of(overload)}: {reason}"
    )
