"""Custom operators whose fake kernels the tests give."""

import torch


@torch.library.custom_op("kinds::first_three", mutates_args=())
def first_three(a: torch.Tensor) -> torch.Tensor:
    """Give the first three columns."""
    return a[:, :3].clone()


@torch.library.custom_op("kinds::twice_and_one", mutates_args=())
def twice_and_one(a: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """Give twice n rows and one; four, where n is negative."""
    count = int(n)
    return a[: 2 * count + 1].clone() if count >= 0 else a[:4].clone()


@twice_and_one.register_fake
def _(a, n):
    del n
    size = torch.library.get_ctx().new_dynamic_size(min=0, max=a.shape[0])
    return a.new_empty(size * 2 + 1, a.shape[1])
