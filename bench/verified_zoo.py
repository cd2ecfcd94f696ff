"""Count false alarms of verification: a zoo of models, each verified in a process of its own.

    python -m bench.verified_zoo FOLDER [--dtype bfloat16] [--mode static] [--append]

FOLDER holds a `zoo.py` (see bench/zoo.md). Every model is exported and verified against itself, so
each difference is either a fault of the program or a false alarm of `verify`; none may be left.
"""

import copy
import functools
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

import monograph
from bench.lowered_zoo import SEED
from bench.results import Results
from bench.zoo_runs import over_zoo, parser_of

COLUMNS = ("dtype", "sizes", "models", "exported", "equal", "different", "raised")


def converted(value: Any, dtype: torch.dtype) -> Any:
    """Convert a module, or the tensors of inputs, to a floating-point type."""
    if isinstance(value, nn.Module):
        return value.to(dtype)

    def convert(leaf: object) -> object:
        is_float = isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float32
        return leaf.to(dtype) if is_float else leaf

    return pytree.tree_map(convert, value)


def verified(zoo: Any, name: str, dtype: str, mode: str, samples: int) -> dict[str, Any]:
    """Export a model, verify the program, and give its verdict, with reasons where not equal."""
    module, args, kwargs, shapes = zoo.get(name)()
    convert = functools.partial(converted, dtype=getattr(torch, dtype))
    module, args, kwargs = convert(module), *map(convert, (args, kwargs))
    torch.manual_seed(SEED)
    try:
        copy.deepcopy(module)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Exception as error:  # noqa: BLE001 - whatever the model raises, it is the finding
        return {"verdict": "eager raises", "said": f"{type(error).__name__}: {error}"[:200]}
    try:
        dynamic = shapes if mode == "dynamic" else None
        program = monograph.export(module, args, kwargs, dynamic_shapes=dynamic)
    except monograph.MonographError as error:
        return {"verdict": "refused", "said": error.diagnostic.headline[:200]}
    found = monograph.verify(program, module, samples=samples)
    return {"verdict": "equal" if found else "different", "said": "" if found else str(found)}


def main() -> None:
    """Verify every model, and show how many are right."""
    parser = parser_of(__doc__)
    parser.set_defaults(seconds=300)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--mode", choices=["static", "dynamic"], default="dynamic")
    parser.add_argument("--samples", type=int, default=20)
    options = parser.parse_args()
    given = {"dtype": options.dtype, "mode": options.mode, "samples": options.samples}
    found = over_zoo(options, functools.partial(verified, **given))
    verdicts = [each.get("verdict", "raised") for each in found.values()]
    exported = [each for each in verdicts if each not in {"refused", "eager raises"}]
    counts = [
        exported,
        *[[v for v in verdicts if v == w] for w in ("equal", "different", "raised")],
    ]
    row = (options.dtype, options.mode, str(len(found)), *[str(len(each)) for each in counts])
    notes = tuple(
        f"{name}: {each.get('verdict', 'raised')}: {str(each.get('said') or each)[:300]}"
        for name, each in found.items()
        if each.get("verdict") != "equal"
    )
    results = Results("False alarms of verification over the zoo", COLUMNS, [row], notes)
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
