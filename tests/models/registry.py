"""Models as data: how to build one, its inputs at given sizes, and which of its sizes may vary.

One decorated builder per model; the tests enumerate `MODELS`. Axes are named with plain strings, so
that the same description serves named dims, automatic ones, and any other exporter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from torch import nn

Inputs = tuple[tuple, dict]


@dataclass(frozen=True, slots=True)
class Model:
    """A model the tests capture: `sizes[0]` are the example's, the others are unlike it.

    Law: for every element of `sizes`, the captured program answers as the model does. For an
    element of `edges` (0, 1, the ends of the ranges) it answers so or refuses with ContractError.
    """

    name: str
    build: Callable[[], tuple[nn.Module, Callable[..., Inputs]]]
    axes: Mapping[str, object] | None
    ranges: Mapping[str, tuple[int, int]]
    sizes: tuple[dict[str, int], ...]
    edges: tuple[dict[str, int], ...]
    training: bool


MODELS: dict[str, Model] = {}


def model(
    *,
    sizes: Sequence[dict[str, int]],
    axes: Mapping[str, object] | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    edges: Sequence[dict[str, int]] = (),
    training: bool = False,
):
    """Register a builder that returns a module and a function from sizes to (args, kwargs).

    `axes` has the structure of `dynamic_shapes`, with the name of a size in place of each Dim;
    `ranges` bounds those whose model bounds them (a table of positions, say).
    """

    def register(build):
        assert build.__name__ not in MODELS, f"two models are called {build.__name__}"
        MODELS[build.__name__] = Model(
            name=build.__name__,
            build=build,
            axes=axes,
            ranges=dict(ranges or {}),
            sizes=tuple(sizes),
            edges=tuple(edges),
            training=training,
        )
        return build

    return register
