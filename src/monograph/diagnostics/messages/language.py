"""Messages about Python that is not interpreted.

asynchronous-code       name                            UnsupportedError
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import UnsupportedError


@message("asynchronous-code", UnsupportedError)
def asynchronous_code(*, name: object) -> Text:
    """Say that `name` is a coroutine or an asynchronous generator."""
    return Text(
        headline=f"`{name}` is asynchronous, and asynchronous code is not interpreted",
        label="called here",
        notes=("what it awaits is decided by an event loop, while a program has one order",),
        helps=("write it as plain functions: `def` for `async def`, and no `await`",),
    )
