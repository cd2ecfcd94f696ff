"""Contract validation: what a contract from a file must be before code is made of it.

Checks are compiled from a contract, signatures from the names of arguments, and Python text from
both. Law: no text of a file becomes code but names that are names, kinds of devices and questions
that are known here; every place is that of an input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monograph.archive.errors import Refused
from monograph.archive.schema.json_fields import qualified_name
from monograph.archive.schema.values import device_of
from monograph.capture.queries.query_kinds import QUESTIONS, UNCHECKED, asks_tensor
from monograph.diagnostics import Place
from monograph.program import TensorClause

if TYPE_CHECKING:
    from monograph.capture.queries.query_kinds import Answer
    from monograph.program import CallNames, Contract

UNSAFE: Final = "archive-unsafe"


def check_names(names: CallNames) -> None:
    """Hold that the names of arguments are those of one call.

    Raises: Refused.
    """
    several = (*names.positional, *names.keywords)
    if len(set(several)) != len(several):
        raise Refused("two of its arguments have one name")
    if not 0 <= names.n_position_only <= len(names.positional):
        raise Refused("more of its arguments go by position than there are")
    either_way = set(names.either_way)
    named = set(names.keywords) - set(names.gathered)
    if not either_way <= named or len(either_way) != len(names.either_way):
        raise Refused("it says of other arguments that they go by position too", UNSAFE)
    if not set(names.gathered) <= set(names.keywords):
        raise Refused("it gathers arguments that there are not", UNSAFE)


def check_contract(contract: Contract) -> None:
    """Hold that a contract speaks of its own inputs, in words that are known.

    Raises: Refused.
    """
    for clause in contract.clauses:
        if isinstance(clause, TensorClause):
            _check_device(clause.device_type)
    for answer in contract.answers:
        _check_answer(answer, contract)
    pairs = (*contract.apart, *((place, place) for place, _ in contract.apart_from_state))
    if any(not _is_tensor(place, contract) for pair in pairs for place in pair):
        raise Refused("it holds apart what is no tensor among its inputs")
    for _, name in contract.apart_from_state:
        qualified_name(name)
    if any(place < 0 for place in contract.inference_results):
        raise Refused("it speaks of a result that there is not")


def _check_answer(answer: Answer, contract: Contract) -> None:
    spots = answer.origin if isinstance(answer.origin, tuple) else (answer.origin,)
    if not all(each is None or isinstance(each, Place) for each in spots):
        raise Refused("it says of no line that it asked")
    if answer.question not in QUESTIONS:
        raise Refused(f"it asks {answer.question[:40]!r}, which is no question", UNSAFE)
    if not asks_tensor(answer):
        if answer.path and answer.question not in {UNCHECKED, "process_group"}:
            _check_device(answer.path)
    elif answer.argument is None:
        qualified_name(answer.path)
    elif not _is_tensor(answer.argument, contract):
        raise Refused("it asks something of an input that is no tensor")


def _is_tensor(place: int, contract: Contract) -> bool:
    clauses = contract.clauses
    return 0 <= place < len(clauses) and isinstance(clauses[place], TensorClause)


def _check_device(kind: str) -> None:
    device_of({"type": kind})


__all__ = ["check_contract", "check_names"]
