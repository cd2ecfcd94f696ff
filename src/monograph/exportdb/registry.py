"""CaseTable of ExportDB cases: small programs that show one feature each, supported or not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

    from monograph.exportdb.error_cases import ErrorCase
    from monograph.program import ExportedProgram

    Inputs = tuple[Any, ...]
    Model = TypeVar("Model", bound=type[torch.nn.Module])

_export = deferred("monograph.api:export")

Support = Literal["supported", "refused"]

TAGS: Final = (
    "python.assert",
    "python.builtin",
    "python.closure",
    "python.context-manager",
    "python.control-flow",
    "python.data-structure",
    "python.object-model",
    "python.standard-library",
    "torch.cond",
    "torch.dynamic-shape",
    "torch.dynamic-value",
    "torch.escape-hatch",
    "torch.map",
    "torch.mutation",
    "torch.operator",
)
"""The tags of PyTorch's ExportDB, and no others."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program that shows one feature.

    `example` makes the inputs it is exported at; `extra` makes inputs that the program must take
    too, unlike the example. A refused case has the `error` that `export` raises, and `rewrite`,
    a model that does the same and exports. `not_in_torch` says that torch.export has no such case.
    """

    name: str
    text: str
    tags: tuple[str, ...]
    model: Callable[[], torch.nn.Module]
    example: Callable[[], Inputs]
    extra: Callable[[], Inputs] | None = None
    shapes: Callable[[], Any] | None = None
    kwargs: Callable[[], Mapping[str, Any]] = dict
    error: str = ""
    rewrite: Callable[[], torch.nn.Module] | None = None
    in_torch: str = ""

    @property
    def support(self) -> Support:
        """Whether `export` captures it as it stands."""
        return "refused" if self.error else "supported"

    @property
    def page(self) -> str:
        """Where the documentation shows it."""
        return f"docs/exportdb/{self.name}.md"

    def export(self, *, rewritten: bool = False) -> ExportedProgram:
        """Export the model, or what it is rewritten to.

        Raises: what the case is about, where it is refused.
        """
        model = self.rewrite if rewritten and self.rewrite is not None else self.model
        shapes = None if self.shapes is None else self.shapes()
        return _export(model(), self.example(), dict(self.kwargs()), dynamic_shapes=shapes)


@dataclass(slots=True)
class CaseTable:
    """The cases by name, in the order of their files."""

    cases: dict[str, Case | ErrorCase] = field(default_factory=dict[str, "Case | ErrorCase"])

    def add(self, case: Case | ErrorCase) -> None:
        """Take a case in.

        Raises: ValueError, for a name or a tag that is not right.
        """
        unknown = [tag for tag in case.tags if tag not in TAGS]
        if unknown or case.name in self.cases:
            raise ValueError(f"{case.name}: unknown tags {unknown}, or a name that is taken")
        self.cases[case.name] = case


REGISTRY: Final = CaseTable()


def case(*tags: str, example: Callable[[], Inputs], **given: Any) -> Callable[[Model], Model]:
    """Register a model class as a case; its docstring is the text, its name the case's."""

    def register(model: Model) -> Model:
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", model.__name__).lower()
        text = " ".join((model.__doc__ or "").split())
        REGISTRY.add(Case(name, text, tags, model, example, **given))
        return model

    return register


def search(words: str) -> list[Case | ErrorCase]:
    """The cases that have every word in their name, text, tags, or error, best first.

    Words in the name count most. An empty text finds all.
    """
    wanted = words.lower().replace("_", " ").split()
    found: list[tuple[int, int, Case | ErrorCase]] = []
    for place, each in enumerate(REGISTRY.cases.values()):
        name = each.name.replace("_", " ")
        rest = f"{each.text} {' '.join(each.tags)} {each.error} {each.support}".lower()
        if all(word in name or word in rest for word in wanted):
            found.append((-sum(word in name for word in wanted), place, each))
    return [each for _, _, each in sorted(found, key=lambda entry: entry[:2])]


__all__ = ["REGISTRY", "TAGS", "Case", "Support", "case", "search"]
