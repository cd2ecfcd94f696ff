"""Run by another Python: answer one question about `monograph.bytecode` as a line of JSON.

python -m tests.python.answers decoding STRIDE
python -m tests.python.answers instructions SOURCE
python -m tests.python.answers programs
python -m tests.python.answers cpython MODULE [EXCLUDED ...]
"""

from __future__ import annotations

import json
import sys
import types
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tests.python.standing  # noqa: F401  (first: what follows is then found without torch)
from monograph.bytecode.decoding import decode
from monograph.bytecode.instructions import CANONICAL, JUMPS
from tests.python.comparing import differences
from tests.python.cpython import run
from tests.python.depths import complaints
from tests.python.registry import load

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["decoding"]

LIBRARY = Path(types.__file__).parent


def decoding(stride: str) -> dict[str, Any]:
    """Decode every `stride`-th file of the standard library and say what its stacks complain of."""
    problems: list[str] = []
    names: set[str] = set()
    count = 0
    for code in codes(int(stride)):
        count += 1
        decoded = decode(code)
        names.update(instruction.name for instruction in decoded.body)
        where = f"{code.co_filename}:{code.co_firstlineno} {code.co_name}: "
        problems.extend(where + one for one in complaints(decoded, JUMPS))
    unknown = sorted(names - set(CANONICAL))
    return {"count": count, "problems": problems[:20], "unknown": unknown, "names": sorted(names)}


def instructions(source: str) -> dict[str, Any]:
    """Decode the last function that a text defines: its names and arguments, handlers and slots."""
    scope: dict[str, Any] = {}
    exec(compile(source, "asked.py", "exec"), scope)
    function = [one for one in scope.values() if isinstance(one, types.FunctionType)][-1]
    decoded = decode(function.__code__)
    return {
        "body": [[one.name, str(one.argument)] for one in decoded.body],
        "handlers": [handler and list(handler) for handler in decoded.handlers],
        "slots": decoded.slots,
    }


def programs() -> dict[str, Any]:
    """Run every program both ways and give what differs."""
    different = {name: differences(one) for name, one in load().items()}
    return {
        "count": len(different),
        "different": {name: found for name, found in different.items() if found},
    }


def codes(stride: int) -> Iterator[types.CodeType]:
    """Compile files of the standard library and its tests, and give all their code objects."""
    files = sorted([*LIBRARY.glob("*.py"), *LIBRARY.glob("test/test_*.py")])
    warnings.simplefilter("ignore")
    for path in files[::stride]:
        try:
            whole = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # files that test what the compiler refuses
            continue
        yield from nested(whole)


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Give a code object and all inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def cpython(module: str, *excluded: str) -> dict[str, Any]:
    """Run one of CPython's own test modules interpreted."""
    return run(module, *excluded)


QUESTIONS = {
    "cpython": cpython,
    "decoding": decoding,
    "instructions": instructions,
    "programs": programs,
}


if __name__ == "__main__":
    answer = QUESTIONS[sys.argv[1]](*sys.argv[2:])
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
