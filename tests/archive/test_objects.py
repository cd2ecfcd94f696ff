"""Files of programs that take and give objects: described as data, read without the classes."""

import io
import json
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest
import torch

import monograph
from monograph.archive.errors import Refused
from monograph.archive.schema.structures import OBJECT, SHARED, read_structure, structure_text
from monograph.host.objects import StandIn
from monograph.host.trees import flatten

CLASSES = """
import torch

class Layer:
    def __init__(self):
        self.keys, self.kind, self.length = None, Layer, 0

    def update(self, x):
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        self.length += x.shape[0]
        return self.keys

class Cache:
    def __init__(self):
        self.layers, self.tag = [Layer(), Layer()], "a"

class Shelf(dict):
    def __init__(self, label, **kwargs):
        super().__init__(**kwargs)
        self.label = label

class Model(torch.nn.Module):
    def forward(self, x, cache, shelf):
        for layer in cache.layers:
            x = x + layer.update(x).sum(0)
        return cache, Shelf("new", x=x * shelf["scale"])
"""

SAVES = """
import sys
import torch, monograph, published
past = monograph.Dim("past", min=1, max=9)
cache = published.Cache()
for layer in cache.layers:
    layer.update(torch.ones(2, 3))
program = monograph.export(
    published.Model(),
    (torch.ones(1, 3), cache, published.Shelf("s", scale=torch.ones(3))),
    dynamic_shapes={"x": None, "cache": [[{0: past}] * 2], "shelf": None},
)
monograph.save(program, sys.argv[1])
"""

LOADS = """
import sys
import torch, monograph
from types import SimpleNamespace as Bag
program = monograph.load(sys.argv[1])
assert "published" not in sys.modules
module = program.module()
(x, cache, shelf), _ = program.example_inputs
found, new = module(x, cache, shelf)
assert found is cache and cache.layers[1].length == 3 and cache.layers[1].keys.shape == (3, 3)
assert type(cache).__qualname__ == "Cache" and type(cache).__module__ == "published"
assert new.label == "new" and torch.equal(new["x"], torch.full((1, 3), 10.0)), new["x"]
kind = cache.layers[0].kind
layers = [Bag(keys=torch.ones(4, 3), kind=kind, length=4) for _ in range(2)]
found, _ = module(x, Bag(layers=layers, tag="a"), shelf)
assert found.layers[0].length == 5
try:
    module(x, Bag(layers=layers, tag="b"), shelf)
except monograph.ContractError as error:
    assert "cache.tag" in str(error), error
else:
    raise AssertionError
import published
cache = published.Cache()
for layer in cache.layers:
    layer.update(torch.ones(3, 3))
found, new = module(x, cache, published.Shelf("s", scale=torch.ones(3)))
assert type(new) is published.Shelf and found is cache and type(found.layers[0]) is published.Layer
"""


def ran(code, folder, path):
    """Run code in a process of its own."""
    (folder / "published.py").write_text(CLASSES)
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_file_needs_no_classes(tmp_path):
    """Given by structure while the class is not loaded, and by the class as soon as it is."""
    ran(SAVES, tmp_path, tmp_path / "model.pt2")
    ran(LOADS, tmp_path, tmp_path / "model.pt2")


def test_nothing_of_an_object_is_a_pickle(tmp_path):
    """The file has no instruction that names its class."""
    ran(SAVES, tmp_path, tmp_path / "model.pt2")
    data = (tmp_path / "model.pt2").read_bytes()
    assert b"cpublished" not in data


def node(context, children=(), kind=OBJECT):
    """A structure of one node, in text."""
    leaf = {"type": None, "context": None, "children_spec": []}
    context = context if isinstance(context, str) else json.dumps(context)
    spec = {"type": kind, "context": context, "children_spec": [leaf] * len(children)}
    return json.dumps([1, spec])


def state(name="nowhere:Thing", content=None, attributes=()):
    """What a file says of an object."""
    return {"class": name, "content": content, "attributes": list(attributes)}


def test_a_structure_survives():
    """Also what is shared, and plain values of each kind."""
    one = SimpleNamespace(x=torch.ones(1), d=torch.float16, s=slice(1, None), f=frozenset({1, "a"}))
    tree = [one, SimpleNamespace(again=one, of=SimpleNamespace, z=1j, b=b"\x00", r=range(3))]
    _, spec = flatten(tree)
    assert read_structure(structure_text(spec, {})) == spec


@pytest.mark.parametrize(
    "written",
    [
        node("0", kind=SHARED),
        node("-1", kind=SHARED),
        node("x", kind=SHARED),
        node(state(), children=[0]),
        node(state(attributes=[["a", None]])),
        node(state(attributes=[["a", [1]], ["a", [2]]])),
        node(state(attributes=[["a", [{"class": "os.system"}]]])),
        node(state(attributes=[["a", [{"enum": ["os:X", "Y"]}]]])),
        node(state(attributes=[["a", [{"function": "os:system"}]]])),
        node(state(attributes=[["a", [1, 2]]])),
        node(state(name="no colon")),
        node(state(name="a b:c")),
        node(state(content="set")),
        node(state(name="torch.nn:Linear")),
        node(state(name="torch:Tensor")),
        node(state(name="builtins:dict", content="list")),
        node({"class": "a:b"}),
        node("[]"),
        node("{"),
    ],
)
def test_hostile_structures_are_refused(written):
    """By name, before anything is made."""
    with pytest.raises((Refused, KeyError, ValueError, TypeError)):  # `reading` takes all of them
        read_structure(written)


def test_a_class_of_pythons_is_not_made():
    """A file that names one gets a stand-in, which does nothing."""
    spec = read_structure(node(state("tempfile:_TemporaryFileCloser", None, [["name", ["/x"]]])))
    assert issubclass(spec.context.kind, StandIn)


def test_functions_are_no_data():
    """They are refused by name when a program is saved."""

    class Applies(torch.nn.Module):
        def forward(self, x, options):
            return options.function(x)

    program = monograph.export(Applies(), (torch.ones(2), SimpleNamespace(function=torch.relu)))
    with pytest.raises(monograph.ArchiveError, match="an object holds"):
        monograph.save(program, io.BytesIO())
