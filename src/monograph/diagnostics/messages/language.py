"""Messages about Python that is not interpreted.

asynchronous-code       name                            UnsupportedError
capture-failed          error                           UnsupportedError
recursion-on-data       name, count                     UnsupportedError
computed-in-thread      op                              UnsupportedError
graph-break             reason                          UnsupportedError
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


@message("capture-failed", UnsupportedError)
def capture_failed(*, error: object, here: str = "") -> Text:
    """Say that something takes no abstract tensor or symbolic number; `error` is what it says."""
    source = f"`{here}`" if here else "this"
    return Text(
        headline=f"{source} cannot be captured: {error}",
        label="needs a plain value",
        notes=("during a capture, sizes that vary and numbers out of data are symbolic",),
        helps=(
            "write it with operators of Python and PyTorch",
            "or compute it before `forward` is called, and pass the result in",
        ),
    )


@message("recursion-on-data", UnsupportedError)
def recursion_on_data(*, name: object, count: object) -> Text:
    """Say that a function calls itself as long as data says so."""
    return Text(
        headline=f"`{name}` calls itself as often as data says: {count} calls within each other "
        "are not the end of it",
        label="goes both ways each time",
        notes=("how often it calls itself is known only when the program runs",),
        helps=(
            "write it as a loop: a `while` whose condition is computed from tensors is captured",
        ),
    )


@message("computed-in-thread", UnsupportedError)
def computed_in_thread(*, op: object) -> Text:
    """Say that another thread, which forward started, computes with the tensors of a capture."""
    return Text(
        headline=f"another thread computes `{op}`, which is then no part of the program",
        label="in another thread",
        helps=("call the thread's function itself: PyTorch's operators use several cores anyway",),
    )


@message("graph-break", UnsupportedError)
def graph_break(*, reason: object) -> Text:
    """Say what ends a graph, where `nopython` wants one of the whole function."""
    return Text(
        headline=f"a graph ends here: {reason}",
        label="runs by itself",
        notes=("with nopython=True, a function is one graph, or it is refused",),
        helps=(
            "move this out of the function",
            "or leave nopython out: this runs as it is, between two graphs",
        ),
    )
