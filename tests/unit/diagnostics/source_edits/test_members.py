"""Edits of one call: what is offered parses, and applied it exports."""

import importlib.util

import pytest
import torch

import monograph
from monograph import Dim

HEAD = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return "
COPIED = {
    "reshape": "x.permute(0, 2, 3, 1).reshape(-1, 2) * 2",
    "flatten": "x.flatten(2).transpose(1, 2).flatten(0, 1)",
}
"""A copy, but of one image a view that lies otherwise."""


def exported(path):
    """Export the model of a file for batches of one and more, by an example of one."""
    spec = importlib.util.spec_from_file_location("given_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.Model()
    shapes = ({0: Dim("b", min=1, max=20)},)
    return model, monograph.export(model, (torch.randn(1, 2, 4, 5),), dynamic_shapes=shapes)


@pytest.mark.parametrize("name", COPIED)
def test_a_copy_is_made_where_a_size_of_one_decides(tmp_path, name):
    """The line that the help shows, put into the file, exports, and agrees for one and for more."""
    path = tmp_path / f"{name}.py"
    path.write_text(f"{HEAD}{COPIED[name]}\n")
    with pytest.raises(monograph.MonographError) as caught:
        exported(path)
    (edit,) = caught.value.diagnostic.edits
    assert edit.title == "copy it whatever its sizes are"
    lines = path.read_text().splitlines()
    lines[edit.first - 1 : edit.last] = edit.lines
    path.with_stem("again").write_text("\n".join(lines))
    model, program = exported(path.with_stem("again"))
    for n in (1, 3):
        x = torch.randn(n, 2, 4, 5)
        torch.testing.assert_close(program.module()(x), model(x), check_stride=True)
