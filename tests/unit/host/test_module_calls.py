"""What is borrowed of modules answers as PyTorch does."""

from torch import nn

from monograph.host.module_calls import named_parts


def test_parts_are_named_as_pytorch_names_them():
    """A part that has two names comes twice, and an empty place not at all."""
    shared = nn.Linear(2, 2)
    module = nn.Sequential(shared, nn.Sequential(shared, nn.ReLU()), nn.Bilinear(2, 2, 2))
    module.register_module("empty", None)
    assert named_parts(module) == list(module.named_modules(remove_duplicate=False))
