"""What fake kernels of custom operators may ask for: `torch.library.get_ctx()`.

The Meta kernel that `torch.library.register_fake` makes sets the function behind `get_ctx` to one
that raises, by `set_ctx_getter` of `torch._library.fake_impl`, a name it looks up when it runs.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from torch._library import fake_impl

if TYPE_CHECKING:
    from collections.abc import Generator

_MODULE: Final[Any] = fake_impl


@contextmanager
def context_given(context: object) -> Generator[None]:
    """While Meta kernels run, `torch.library.get_ctx()` gives them this."""
    before = _MODULE.set_ctx_getter

    def set_ctx_getter(_: object) -> Any:
        return before(lambda: context)

    _MODULE.set_ctx_getter = set_ctx_getter
    try:
        yield
    finally:
        _MODULE.set_ctx_getter = before


__all__ = ["context_given"]
