"""Records carry every field of every dataclass of the contract, and nothing of a wrong type."""

import dataclasses
import enum
import math

import pytest
import torch

import monograph
from monograph.archive.errors import Refused
from monograph.archive.schema.dataclass_fields import (
    RECORDS,
    RecordReader,
    RecordWriter,
    field_types,
    is_of,
)
from monograph.archive.schema.expressions import ExpressionReader, ExpressionWriter
from monograph.integers import Facts, Guard, ge
from monograph.program import (
    CallNames,
    Contract,
    FloatClause,
    NumberClause,
    Report,
    Specialization,
    TensorClause,
    ValueClause,
)
from monograph.program import contract as contract_file


class Colour(enum.Enum):
    """An enum that an input may be."""

    RED = 1


def both():
    """Give a writer, a reader made of what it wrote, and two symbols."""
    facts = Facts()
    n, x = facts.symbol("n", hint=3), facts.float_input("x", hint=0.5)
    (inner,) = x.symbols
    names = {n: "s0", inner: "zf1"}
    values = {"s0": n, "zf1": x}
    writer = RecordWriter(ExpressionWriter(lambda s, _: f"Symbol('{names[s]}')"), names.__getitem__)

    def reader():
        return RecordReader(
            ExpressionReader(values.__getitem__), {"s0": n, "zf1": inner}, [*writer.places]
        )

    return writer, reader, n, inner


def examples(n, inner):
    """Give one record of each kind."""
    place = monograph.diagnostics.Place("model.py", 3, 3, 1, 9, "forward")
    guard = Guard(ge(n, 2), (place, place))
    structure = torch.utils._pytree.tree_structure(((1, [2]), {"k": 3}))
    clauses = (
        TensorClause("x", torch.float8_e5m2, "cpu", (n, 4), strides=(4, 1), offset=2 * n),
        NumberClause("n", n),
        FloatClause("s", inner),
    )
    return {
        "TensorClause": clauses[0],
        "NumberClause": clauses[1],
        "FloatClause": clauses[2],
        "ValueClause": ValueClause("v", -0.0),
        "Guard": guard,
        "Specialization": Specialization("x.shape[1]", 4, (place,)),
        "Report": Report((Specialization("x.shape[1]", 4, (place,)),)),
        "CallNames": CallNames(("x",), 1, ("k",), ("k",)),
        "Contract": Contract(structure, clauses, (guard,), ((n, 1, None),), {n: "batch"}),
    }


def test_every_dataclass_of_the_contract_is_carried():
    """A dataclass or field added to the contract is in the records; its type is understood."""
    here = {
        name
        for name, each in vars(contract_file).items()
        if isinstance(each, type) and dataclasses.is_dataclass(each)
    }
    assert here <= RECORDS.keys()
    for kind in RECORDS.values():
        assert field_types(kind).keys() == {each.name for each in dataclasses.fields(kind)}


def test_records_come_back():
    """Every kind of record is equal after writing and reading, field by field."""
    writer, reader, n, inner = both()
    made = examples(n, inner)
    for name, record in made.items():
        again = reader_after(writer, reader, record)
        assert type(again) is RECORDS[name]
        for each in dataclasses.fields(record):
            left, right = getattr(record, each.name), getattr(again, each.name)
            assert left == right, f"{name}.{each.name}"
    assert math.copysign(1, reader_after(writer, reader, made["ValueClause"]).value) == -1


def test_every_field_type_is_checked():
    """A value of another type is refused, whichever field of whichever record it stands in."""
    writer, reader, n, inner = both()
    for name, record in examples(n, inner).items():
        written = writer.write(record)
        for each in dataclasses.fields(record):
            if field_types(type(record))[each.name] in (
                object,
                monograph.archive.schema.dataclass_fields.Any,
            ):
                continue
            bad = {"record": [name, {**written["record"][1], each.name: {"bytes": "00"}}]}
            with pytest.raises((Refused, TypeError)):
                reader().read(bad)


def reader_after(writer, reader, value):
    """Write and read."""
    written = writer.write(value)
    return reader().read(written)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(1 << 70), "text", 0.0, math.inf, 2 + 3j, b"\0bytes", ...),
        *((1, (2, "x")), [1, [2]], {"k": (1,)}, slice(1, None, 2), range(3)),
        *(torch.float32, torch.device("cpu"), torch.channels_last, torch.strided, Colour.RED),
        torch.Size([2, 3]),
    ],
    ids=repr,
)
def test_values_come_back(value):
    """Constants that an input may have keep value and type."""
    writer, reader, _, _ = both()
    again = reader_after(writer, reader, value)
    assert again == value
    assert type(again) is type(value)


def test_nan_comes_back():
    """NaN is NaN."""
    writer, reader, _, _ = both()
    assert math.isnan(reader_after(writer, reader, math.nan))


def test_what_cannot_be_carried_is_refused():
    """An object of unknown class is refused when it is written."""
    writer, _, _, _ = both()
    with pytest.raises(Refused):
        writer.write(object())


def test_is_of():
    """Annotations as the fields of records have them."""
    assert is_of((1, None), tuple[int | None, ...])
    assert not is_of((1, "x"), tuple[int, int])
    assert not is_of(True, int)
    assert is_of({"a": 1}, dict[str, int])
