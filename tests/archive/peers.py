"""How the tests of files save and load: ours and torch's own, in memory."""

import io
import logging
import warnings
from contextlib import contextmanager

import torch
from torch.utils._pytree import SUPPORTED_SERIALIZED_TYPES

import monograph

_NAMED = SUPPORTED_SERIALIZED_TYPES[torch.return_types.sort].serialized_type_name
_NOW_NAMED = {"a result of a class without a name"} if _NAMED == "torch.return_types.sort" else {}


def of_this_version(reasons):
    """What files of torch have no form for, but for what they have one for from torch 2.15 on."""
    return {name: reason for name, reason in reasons.items() if reason not in _NOW_NAMED}


@contextmanager
def quietly():
    """Keep what torch's own reader logs and warns of out of the tests' output."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def saved(program, **options) -> bytes:
    """Give the bytes of a program saved here; unverified, as the tests verify it themselves.

    Paths stay as they are, so that what was read can be compared as text.
    """
    file = io.BytesIO()
    monograph.save(program, file, **{"verify": False, "source_paths": "all", **options})
    return file.getvalue()


def loaded(content: bytes, **options):
    """Load a program here."""
    return monograph.load(io.BytesIO(content), **options)


def saved_there(program, **options) -> bytes:
    """Give the bytes of a program saved by torch.export."""
    file = io.BytesIO()
    with quietly():
        torch.export.save(program, file, **options)
    return file.getvalue()


def loaded_there(content: bytes, **options):
    """Load a program with torch.export."""
    with quietly():
        return torch.export.load(io.BytesIO(content), **options)
