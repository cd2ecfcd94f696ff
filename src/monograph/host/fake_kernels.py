"""What fake kernels of custom operators may ask for: `torch.library.get_ctx()`.

The Meta kernel that `torch.library.register_fake` makes sets the function behind `get_ctx` to one
that raises, by `set_ctx_getter` of `torch._library.fake_impl`, a name it looks up when it runs.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from torch._library import fake_impl

if TYPE_CHECKING:
    from collections.abc import Generator

    import torch

_MODULE: Final[Any] = fake_impl


@contextmanager
def context_given(context: object, device: torch.device | None) -> Generator[None]:
    """While Meta kernels run, `torch.library.get_ctx()` gives them this.

    What they make without saying where is on this device; modes from outside are not seen there.
    """
    before = _MODULE.set_ctx_getter

    @contextmanager
    def set_ctx_getter(_: object) -> Generator[None]:
        with before(lambda: context), nullcontext() if device is None else device:
            yield

    _MODULE.set_ctx_getter = set_ctx_getter
    try:
        yield
    finally:
        _MODULE.set_ctx_getter = before


__all__ = ["context_given"]
