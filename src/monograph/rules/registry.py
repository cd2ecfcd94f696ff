"""One rule per operator: a small pure function from argument types to result types.

Law: what stands in the registry was compared with the operator's own schema when it was registered,
so a rule with a misspelt parameter or another default cannot wait for a user to find it.
"""

from __future__ import annotations

import inspect
import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.dispatch import schema_of
from monograph.host.operator_types import overload_of
from monograph.host.overloads import present

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.host.operator_types import OpOverload

_ENUMS: Final = frozenset({"dtype", "layout", "memory_format"})
"""Schemas store the defaults of these as numbers, so the law states them."""


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
        for overload in map(overload_of, present(operators)):
            check_signature(function, overload)
            RULES.add(Rule(overload, function, code.co_filename, code.co_firstlineno))
        return function

    return register


def shared_rule(
    *operators: OpOverload, **fixed: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a law as the rule of several operators: it names only the parameters that it reads.

    A law gets what the schema calls by these names, the schema's defaults filled in; where a schema
    has no such parameter, its own default stands. `x` is the first argument, whatever its name.
    `**options` get the keyword-only arguments that it does not name, and `fixed` is what this line
    of the table says itself.

    Raises: TypeError where a parameter has no value, ValueError on a second rule.
    """

    def register(law: Callable[..., Any]) -> Callable[..., Any]:
        code = law.__code__
        for overload in present(operators):
            bound = _bound(law, overload, fixed)
            RULES.add(Rule(overload, bound, code.co_filename, code.co_firstlineno))
        return law

    return register


def _bound(
    law: Callable[..., Any], overload: OpOverload, fixed: Mapping[str, Any]
) -> Callable[..., Any]:
    """The law as a function of everything that the operator takes."""
    parameters = inspect.signature(law).parameters
    names, defaults = _read(overload, parameters, fixed)
    given = {**fixed, **defaults}
    for name, p in parameters.items():
        has_value = name in fixed or name in names or p.default is not p.empty
        if not has_value and p.kind is not p.VAR_KEYWORD:
            raise _mismatch(law, overload, f"the schema has no `{name}`")
    by_keyword = {
        argument.name: name
        for argument, name in zip(schema_of(overload).arguments, names, strict=True)
    }

    def rule(*args: Any, **kwargs: Any) -> Any:
        values = given.copy()
        for name, value in zip(names, args, strict=False):
            if name is not None:
                values[name] = value
        for key, value in kwargs.items():
            name = by_keyword[key]
            if name is not None:
                values[name] = value
        return law(**values)

    rule.__wrapped__ = law  # pyright: ignore[reportFunctionMemberAccess] - as functools.wraps does
    return rule


def _read(
    overload: OpOverload, parameters: Mapping[str, inspect.Parameter], fixed: Mapping[str, Any]
) -> tuple[list[str | None], dict[str, Any]]:
    """Under which name a law reads each of the operator's arguments, if at all; and defaults."""
    schema = _schema_parameters(overload)
    rest = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    names: list[str | None] = []
    defaults: dict[str, Any] = {}
    for at, (argument, (default, keyword_only)) in enumerate(schema.items()):
        name = "x" if at == 0 and "x" in parameters and "x" not in schema else argument
        reads = name not in fixed and (name in parameters or (rest and keyword_only))
        names.append(name if reads else None)
        if reads and _is_stated(name, default):
            defaults[name] = default
    return names, defaults


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


def _is_stated(name: str, default: Any) -> bool:
    """Whether a schema says a default that can be handed on."""
    if default is inspect.Parameter.empty:
        return False
    return name not in _ENUMS or not isinstance(default, int)


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
