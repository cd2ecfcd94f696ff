"""How the tests of files save and load: ours and torch's own, in memory."""

import io
import logging
import warnings
from contextlib import contextmanager

import torch

import monograph


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
