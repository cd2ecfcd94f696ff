"""Code in the place of any text of a file is refused, or stays a text: it never runs.

Every text of a program's JSON and of our record is replaced, one at a time, by code in the clothes
of what generated code has around it. What loads is called, printed, checked, and written as Python.
"""

import contextlib
import json
import warnings
import zlib

import pytest
import torch

import monograph
from tests.archive import hostile
from tests.archive.peers import loaded, loaded_there, quietly, saved, saved_there
from tests.seeding import reseed

CLOTHES = (
    "{}",
    "x={}",
    '" + str({}) + "',
    "' + str({}) + '",
    'cpu") or {} or str("',
    "cpu') or {} or str('",
    "x\n{}",
    "x)\n    {}\n    (x",
    "{{{}}}",
)
OURS = "__import__('tests.archive.hostile', fromlist=['x']).fire()"


class Asks(torch.nn.Module):
    """Asks what surrounds it, takes arguments of every kind, branches, and changes a list."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x, given, /, scale=2.0, *, flag="on", **more):
        if torch.is_autocast_enabled("cpu") or not self.linear.weight.requires_grad:
            return x
        if x.requires_grad or x.stride(0) != 4:
            scale = scale + 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
        y = torch.cond(y.sum() > 0, lambda v: v.float() + 1, lambda v: v.float() * 2, (y,))
        self.total.add_(y.sum(0))
        given["seen"].append(y)
        for value in more.values():
            y = y + value
        return {"y": y * scale, flag: self.total * 1}


def example():
    """Give the example's arguments."""
    x = torch.arange(12.0).view(3, 4)
    return (x, {"seen": [x + 1]}), {"scale": 3.0, "flag": "on", "b": x, "a": x * 2}


def good():
    """Give the members of a file of it."""
    reseed(0)
    args, kwargs = example()
    shapes = {"x": {0: monograph.Dim("rows", min=1, max=64)}}
    shapes |= {"given": {"seen": [{0: monograph.Dim.AUTO}]}, "scale": None, "flag": None}
    shapes |= {"b": {0: monograph.Dim.AUTO}, "a": {0: monograph.Dim.AUTO}}
    program = monograph.export(Asks(), args, kwargs, dynamic_shapes=shapes)
    return hostile.members_of(saved(program))


def places(value) -> list:
    """Every text of a JSON value: (path, its container, its key, whether it is a key itself)."""
    found, waiting = [], [((), value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, list):
            items = [(index, "*", inner) for index, inner in enumerate(each)]
        elif isinstance(each, dict):
            items = [(key, key, inner) for key, inner in each.items()]
            found += [((*path, "key"), each, key, True) for key in each]
        else:
            continue
        for key, shown, inner in items:
            if isinstance(inner, str):
                found.append(((*path, shown), each, key, False))
            else:
                waiting.append(((*path, shown), inner))
    return found


def texts(members) -> list[tuple[str, int]]:
    """(member, number of the text): one of each kind of place."""
    kinds = {}
    for member in [m for m in (hostile.MODEL, hostile.SIDE, hostile.WEIGHTS) if m in members]:
        for number, (path, container, key, _) in enumerate(places(json.loads(members[member]))):
            # What a place of a table is follows from what stands there first.
            first = container[0] if isinstance(container, list) else None
            label = first if isinstance(first, str) and len(first) < 20 else ""
            kinds.setdefault((member, path, label, str(key) if label else ""), (member, number))
    return list(kinds.values())


def replaced(members, member: str, number: int, clothes: str) -> bytes:
    """The file with code in the place of one text."""
    members, value = dict(members), json.loads(members[member])
    _, container, key, is_key = places(value)[number]
    code = clothes.format(OURS)
    if is_key:
        held = {(code if each == key else each): inner for each, inner in container.items()}
        container.clear()
        container.update(held)
    else:
        container[key] = code
    members[member] = json.dumps(value).encode()
    if member == hostile.MODEL and hostile.SIDE in members:
        side = json.loads(members[hostile.SIDE])
        side["program"] = zlib.crc32(members[member])
        members[hostile.SIDE] = json.dumps(side).encode()
    return hostile.written(members)


def used(program) -> None:
    """Do with a program what makes code of it; it may refuse."""
    args, kwargs = example()
    uses = (
        lambda: program.module()(*args, **kwargs),
        lambda: program.module()(torch.ones(3, 4, requires_grad=True), *args[1:], **kwargs),
        lambda: program.module()(*args),
        lambda: program.check_inputs(*args, **kwargs),
        lambda: str(program) + str(program.contract) + str(program.report),
        lambda: compile_text(program.to_python()),
        lambda: monograph.unflatten(program)(*args, **kwargs),
        lambda: program.run_decompositions().module()(*args, **kwargs),
    )
    for use in uses:
        with contextlib.suppress(Exception):
            use()


def compile_text(text: str) -> None:
    """Run a program's text, as who reads it would."""
    exec(compile(text, "text.py", "exec"), {"__name__": "text"})


def walk(members, chosen) -> int:
    """Replace each text by code; give how many files were read."""
    read = 0
    for member, number in chosen:
        for clothes in CLOTHES:
            content = replaced(members, member, number, clothes)
            hostile.FIRED.clear()
            with warnings.catch_warnings(), quietly():
                warnings.simplefilter("ignore")
                try:
                    program = loaded(content)
                except monograph.ArchiveError:
                    assert not hostile.FIRED, (member, number, clothes)
                    continue
                used(program)
            assert not hostile.FIRED, (member, number, clothes)
            read += 1
    return read


@pytest.fixture(scope="module")
def members():
    """Give the good file."""
    return good()


def test_the_good_file_is_used(members):
    """It loads, and code in the clothes that fit would run: the canary sings."""
    program = loaded(hostile.written(members))
    args, kwargs = example()
    assert program.module()(*args, **kwargs).keys() == {"y", "on"}
    hostile.FIRED.clear()
    compile_text(OURS)
    assert hostile.FIRED
    hostile.FIRED.clear()
    assert len(texts(members)) > 300


def test_code_in_the_contract_never_runs(members):
    """Of the texts that code is made of, each is tried."""
    chosen = [(member, number) for member, number in texts(members) if member == hostile.SIDE]
    wanted = ("path", "question", "either_way", "gatherer", "gathered", "positional", "device_type")
    value = json.loads(members[hostile.SIDE])
    found = places(value)
    kept = [each for each in chosen if set(found[each[1]][0]) & set(wanted)]
    assert len(kept) >= 7
    walk(members, kept)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_code_in_any_text_never_runs(members, part):
    """All kinds of places, in the graph too."""
    walk(members, texts(members)[part::10])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_code_in_any_text_of_torchs_file_never_runs(part):
    """The same without our record: conditions and names are what torch.export stated."""
    theirs = hostile.members_of(saved_there(loaded_there(hostile.good())))
    assert hostile.SIDE not in theirs
    walk(theirs, texts(theirs)[part::10])
