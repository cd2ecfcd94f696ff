"""Files that mean harm, or that something broke: each is a good file with one thing changed.

A case is a function from a good file's members to the bytes of the bad one. What it tries to run
would fire `CANARY`; nothing may.
"""

import io
import json
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable

import torch

import monograph
from tests.archive.peers import saved
from tests.seeding import reseed

CANARY = "__import__('tests.archive.hostile', fromlist=['x']).fire()"
FIRED: list[str] = []


def fire() -> int:
    """Note that something of a file was run."""
    FIRED.append("fired")
    return 3


class Model(torch.nn.Module):
    """A model that has a bit of everything: state, a region, several results, data, assertions."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))
        self.scale = torch.ones(4)

    def forward(self, x, y, *, flag=True):
        self.total.add_(x.sum(0))
        with torch.no_grad():
            z = self.linear(x) * self.scale
        values, _ = torch.topk(z, 2)
        count = y.sum().item()
        torch._check(count >= 0)
        torch._check(count < 100)
        return {"z": z + self.total if flag else z, "v": values, "n": torch.zeros(count)}


def example():
    """Draw the example inputs."""
    return torch.arange(12.0).view(3, 4), torch.tensor([1, 2])


def good() -> bytes:
    """Save the good file."""
    reseed(0)
    dims = {"x": {0: monograph.Dim("batch", max=64)}, "y": {0: monograph.Dim.AUTO}}
    return saved(monograph.export(Model(), example(), dynamic_shapes=dims))


def members_of(content: bytes) -> dict[str, bytes]:
    """Take a file apart."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def written(members: dict[str, bytes], **options) -> bytes:
    """Put a file together."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as target:
        for name, content in members.items():
            target.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


CASES: dict[str, Callable[[dict[str, bytes], bytes], bytes]] = {}


def case(function: Callable) -> Callable:
    """Register a case."""
    CASES[function.__name__] = function
    return function


MODEL, SIDE = "archive/models/model.json", "archive/extra/monograph.model.json"
WEIGHTS = "archive/data/weights/model_weights_config.json"
EXAMPLES = "archive/data/sample_inputs/model.pt"


def edited(members, change, *, ours: bool, member: str = MODEL) -> bytes:
    """Change a JSON member; our own record follows, or is left out so that the file is stock's."""
    members = dict(members)
    value = json.loads(members[member])
    value = change(value) or value
    members[member] = json.dumps(value).encode()
    if member == MODEL:
        if ours:
            side = json.loads(members[SIDE])
            side["program"] = zlib.crc32(members[MODEL])
            members[SIDE] = json.dumps(side).encode()
        else:
            del members[SIDE]
    return written(members)


def json_case(name: str, change: Callable, *, member: str = MODEL, stock_too: bool = True) -> None:
    """Register a change of a JSON member, in our file and in stock's."""
    CASES[name] = lambda members, _: edited(members, change, ours=True, member=member)
    if stock_too and member == MODEL:
        CASES[f"{name}_in_a_stock_file"] = lambda members, _: edited(members, change, ours=False)


# --------------------------------------------------------------------------------- the container
@case
def empty(_members, _content):
    """No bytes."""
    return b""


@case
def not_a_zip(_members, _content):
    """Some other file."""
    return b"\x89PNG\r\n" + b"\0" * 500


@case
def cut_in_half(_members, content):
    """The first half."""
    return content[: len(content) // 2]


@case
def cut_at_the_end(_members, content):
    """All but the last byte."""
    return content[:-1]


@case
def cut_behind_the_inner_zip(members, content):
    """Ends as the zip of the examples inside it ends: a backward search finds that one."""
    content, inner = written(members), members[EXAMPLES]
    return content[: content.index(inner) + len(inner)]


@case
def trailing_bytes(_members, content):
    """Something behind the end."""
    return content + b"garbage"


@case
def flipped_weight(members, content):
    """One bit of a weight."""
    at = content.index(members["archive/data/weights/weight_0"])
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@case
def flipped_graph(members, _content):
    """One letter of the graph."""
    return written(members).replace(b"torch.ops.aten.add.Tensor", b"torch.ops.aten.sub.Tensor", 1)


@case
def flipped_examples(members, content):
    """One bit of an example input."""
    content = written(members)
    at = content.index(members[EXAMPLES]) + 300
    return content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]


@case
def many_members_said(_members, content):
    """An end record that counts 65534 members."""
    return content[:-14] + struct.pack("<HH", 65534, 65534) + content[-10:]


@case
def directory_elsewhere(_members, content):
    """An end record that points into the middle."""
    return content[:-6] + struct.pack("<I", 64) + content[-2:]


@case
def deflate_bomb(members, _content):
    """A hundred megabytes of zeros in a few kilobytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(name, content)
        target.writestr("archive/extra/bomb", b"\0" * (100 << 20))
    return file.getvalue()


@case
def flipped_deflated(_members, content):
    """One bit of what is deflated."""
    at = content.index(b"archive/models/model.json") + 200
    return content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :]


@case
def deflated_size_understated(_members, content):
    """A member that inflates to more than both headers say."""
    content, name = bytearray(content), b"archive/models/model.json"
    first, second = content.index(name), content.rindex(name)
    for at in (first - 8, second - 22):
        size = struct.unpack_from("<I", content, at)[0]
        struct.pack_into("<I", content, at, size - 1)
    return bytes(content)


@case
def member_outside(members, _content):
    """A path that climbs out of the folder."""
    return written({**members, "archive/data/aotinductor/model/../../../../escaped": b"x"})


@case
def member_absolute(members, _content):
    """A path from the root."""
    return written({**members, "/etc/escaped": b"x"})


@case
def member_with_backslashes(members, _content):
    """A path as another system spells it."""
    return written({**members, "archive/..\\..\\escaped": b"x"})


@case
def member_in_another_folder(members, _content):
    """Two roots."""
    return written({**members, "other/models/model.json": members[MODEL]})


@case
def duplicate_member(members, _content):
    """Two graphs under one name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for name, content in members.items():
            target.writestr(zipfile.ZipInfo(name), content)
        target.fp.write(b"")
        target.NameToInfo.pop(MODEL)
        target.writestr(zipfile.ZipInfo(MODEL), members[MODEL])
    return file.getvalue()


@case
def two_names_for_one_place(members, _content):
    """A directory whose entries overlap."""
    content = bytearray(written(members))
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 4)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    return bytes(content)


@case
def other_name_inside(members, _content):
    """A member whose own header calls it otherwise."""
    content = written(members)
    at = content.index(b"archive/byteorder")
    return content[:at] + b"archive/byteordeR" + content[at + 17 :]


@case
def missing_graph(members, _content):
    """No program."""
    return written({name: content for name, content in members.items() if name != MODEL})


@case
def missing_weight(members, _content):
    """A weight that is named and not there."""
    kept = dict(members)
    del kept["archive/data/weights/weight_1"]
    return written(kept)


@case
def newer_archive(members, _content):
    """A version to come."""
    return written({**members, "archive/archive_version": b"1"})


@case
def big_endian(members, _content):
    """The other byte order."""
    return written({**members, "archive/byteorder": b"big"})


@case
def deep_json(members, _content):
    """A hundred thousand brackets."""
    return written({**members, MODEL: b"[" * 100_000})


@case
def endless_number(members, _content):
    """A number of a million digits."""
    return written({**members, MODEL: b'{"schema_version": ' + b"9" * 1_000_000 + b"}"})


@case
def not_utf8(members, _content):
    """JSON in no encoding."""
    return written({**members, MODEL: b'{"\xff\xfe": 1}'})


@case
def not_a_number(members, _content):
    """A literal that JSON does not have."""
    return written({**members, MODEL: b'{"schema_version": NaN}'})


# ------------------------------------------------------------------------------------- pickles
class Bomb:
    """Runs something when it is unpickled."""

    def __reduce__(self):
        return fire, ()


def torch_saved(value) -> bytes:
    """Give what torch.save writes."""
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


@case
def pickled_examples(members, _content):
    """Example inputs that call a function."""
    return written({**members, EXAMPLES: torch_saved(((Bomb(),), {}))})


@case
def bare_pickle_as_examples(members, _content):
    """A pickle without a zip around it."""
    return written({**members, EXAMPLES: pickle.dumps(((Bomb(),), {}))})


@case
def old_weights(members, _content):
    """All weights as one pickle, as old versions wrote."""
    return written({**members, "archive/data/weights/model.pt": torch_saved({"a": Bomb()})})


@case
def examples_with_a_huge_tensor(members, _content):
    """A tensor of a terabyte over a byte."""
    blob = members_of(torch_saved(((torch.zeros(1).expand(2),), {})))
    data = blob["archive/data.pkl"].replace(b"K\x02\x85", b"\x8a\x07\0\0\0\0\0\0\x01\x85", 1)
    return written({**members, EXAMPLES: written({**blob, "archive/data.pkl": data})})


def machine(code: bytes) -> Callable:
    """Make a case of examples with these instructions."""

    def make(members, _content):
        blob = {"archive/data.pkl": b"\x80\x02" + code, "archive/version": b"3\n"}
        return written({**members, EXAMPLES: written(blob)})

    return make


CASES |= {
    "examples_call_eval": machine(b"cbuiltins\neval\nX\x03\0\0\x001+1\x85R."),
    "examples_import": machine(b"ctests.archive.hostile\nfire\n)R."),
    "examples_call_a_string": machine(b"X\x01\0\0\0a)R."),
    "examples_use_nothing": machine(b"t."),
    "examples_contain_themselves": machine(b"]q\0h\0a."),
    "examples_end_early": machine(b"X\xff\xff\xff\x7f"),
    "examples_are_a_name": machine(b"ctorch\nfloat32\n."),
    "examples_forge_an_instance": machine(b"ccollections\nOrderedDict\n)\x81."),
    "examples_have_other_instructions": machine(b"ios\nsystem\n."),
}


# --------------------------------------------------------------------------------- expressions
def with_expression(source: str) -> Callable:
    """Put an expression in the place of the first size that varies."""

    def change(model):
        for meta in graph(model)["tensor_values"].values():
            for size in meta["sizes"]:
                if "as_expr" in size:
                    size["as_expr"]["expr_str"] = source
                    return

    return change


def graph(model):
    """The graph of a program's JSON."""
    return model["graph_module"]["graph"]


def nodes(model):
    """The calls of a program's JSON."""
    return graph(model)["nodes"]


for label, source in {
    "runs_code": CANARY,
    "runs_code_in_a_symbol": f"Symbol({CANARY})",
    "of_an_attribute": "().__class__.__base__.__subclasses__()",
    "of_a_lambda": "(lambda: 1)()",
    "of_a_tower": "9**9**9",
    "of_a_tower_in_calls": "Pow(Integer(9), Pow(Integer(9), Integer(9)))",
    "of_a_shift": "LShift(Integer(1), Integer(9999999999))",
    "of_many_terms": "Pow(Add(Symbol('s0'), Symbol('s1'), Integer(7)), Integer(64))",
    "of_many_brackets": "(" * 5000 + "1" + ")" * 5000,
    "of_many_signs": "-" * 10_000 + "1",
    "of_a_string": "'x' * 99999999",
    "of_a_list": "[0] * 99999999",
    "of_unknown_symbol": "Symbol('secret')",
    "of_division_by_zero": "FloorDiv(Integer(1), Integer(0))",
    "too_long": "1 + " * 9000 + "1",
    "of_a_comprehension": "[x for x in range(10)]",
    "of_a_relation": "Equality(Integer(1), Integer(1))",
    "of_nothing": "",
}.items():
    json_case(f"expression_{label}", with_expression(source))


def stated(model):
    """Conditions that run code."""
    model["guards_code"] = [f"{CANARY} == 3"]


def stated_attribute(model):
    """Conditions that read attributes."""
    model["guards_code"] = ["L['x'].__class__.__name__ == 'Tensor'"]


CASES["condition_runs_code"] = lambda members, _: edited(members, stated, ours=False)
CASES["condition_reads_attributes"] = lambda members, _: edited(
    members, stated_attribute, ours=False
)


# --------------------------------------------------------------------------------------- graphs
def change_of(function: Callable) -> Callable:
    """Register a change of the graph under its name."""
    json_case(function.__name__, function)
    return function


def rename(model, old: str, new: str):
    """Rename everywhere."""
    return json.loads(json.dumps(model).replace(json.dumps(old), json.dumps(new)))


@change_of
def input_named_as_code(model):
    """A placeholder that would be code in the generated function."""
    return rename(model, "x", f"x={CANARY}")


@change_of
def value_named_as_keyword(model):
    """A value named as a keyword."""
    return rename(model, "linear", "lambda")


@change_of
def value_named_torch(model):
    """A value that hides what generated code means."""
    return rename(model, "topk", "torch")


@change_of
def subgraph_named_as_method(model):
    """A subgraph that would take the place of a method."""
    return rename(model, "submod", "forward")


@change_of
def used_before_made(model):
    """Calls in the wrong order."""
    nodes(model).reverse()


@change_of
def made_twice(model):
    """One name for two values."""
    nodes(model).append(nodes(model)[0])


@change_of
def uses_itself(model):
    """A value made of itself."""
    node = nodes(model)[0]
    node["inputs"][0]["arg"] = node["outputs"][0]


@change_of
def made_by_nobody(model):
    """A result that does not exist."""
    graph(model)["outputs"][0] = {"as_tensor": {"name": "nowhere"}}


@change_of
def without_types(model):
    """Values whose types are missing."""
    graph(model)["tensor_values"] = {}


@change_of
def more_inputs_than_signature(model):
    """Inputs the signature does not know."""
    graph(model)["inputs"].append(graph(model)["inputs"][-1])


@change_of
def fewer_specs(model):
    """A signature that is too short."""
    model["graph_module"]["signature"]["input_specs"].pop()


@change_of
def wrong_type_of_a_weight(model):
    """A weight of another shape than its bytes."""
    graph(model)["tensor_values"]["p_linear_weight"]["sizes"] = [{"as_int": 4}, {"as_int": 5}]


@change_of
def wrong_dtype(model):
    """A dtype that is no number's."""
    graph(model)["tensor_values"]["x"]["dtype"] = 999


@change_of
def wrong_device(model):
    """A device of no kind."""
    graph(model)["tensor_values"]["x"]["device"]["type"] = CANARY


@change_of
def negative_size(model):
    """A size below zero."""
    graph(model)["tensor_values"]["x"]["sizes"][1] = {"as_int": -4}


@change_of
def enormous_size(model):
    """A size of more than 64 bits."""
    graph(model)["tensor_values"]["x"]["sizes"][1] = {"as_int": 1 << 70}


@change_of
def unknown_operator(model):
    """An operator nobody has."""
    nodes(model)[0]["target"] = "torch.ops.aten.no_such_thing.default"


@change_of
def function_as_operator(model):
    """A function of Python."""
    nodes(model)[0]["target"] = "torch.os.system"


@change_of
def builtin_as_operator(model):
    """A function of Python, by its module."""
    nodes(model)[0]["target"] = "builtins.eval"


@change_of
def operator_that_reads_files(model):
    """An operator that opens files."""
    nodes(model)[0]["target"] = "torch.ops.aten.from_file.default"


@change_of
def operator_with_other_arguments(model):
    """Arguments the operator does not have."""
    nodes(model)[0]["inputs"][0]["name"] = "nonsense"


@change_of
def operator_with_other_results(model):
    """More results than the operator returns."""
    nodes(model)[0]["outputs"] *= 3


@change_of
def argument_of_unknown_kind(model):
    """A choice the format does not have."""
    nodes(model)[0]["inputs"][0]["arg"] = {"as_code": CANARY}


@change_of
def custom_object(model):
    """An object that only pickle could read."""
    graph(model)["inputs"][0] = {"as_custom_obj": {"name": "o", "class_fqn": "a.b"}}


@change_of
def newer_schema(model):
    """A schema to come."""
    model["schema_version"]["major"] = 9


@change_of
def no_graph(model):
    """A program without a graph."""
    del model["graph_module"]["graph"]


@change_of
def subgraphs_without_end(model):
    """Subgraphs inside of subgraphs, forty deep."""
    region = next(node for node in nodes(model) if "higher_order" in node["target"])
    inner = region["inputs"][1]["arg"]["as_graph"]
    for _ in range(40):
        inner = {"name": "submod", "graph": {**inner["graph"], "nodes": [deeper(region, inner)]}}
    region["inputs"][1]["arg"]["as_graph"] = inner


def deeper(region, inner):
    """A region whose subgraph is `inner`."""
    inputs = [region["inputs"][0], {**region["inputs"][1], "arg": {"as_graph": inner}}]
    return {**region, "inputs": [*inputs, *region["inputs"][2:]]}


def structure(text: str) -> Callable:
    """Put a structure in the place of that of the inputs."""

    def change(model):
        model["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = text

    return change


LEAF = '{"type": null, "context": null, "children_spec": []}'
for label, spec in {
    "of_unknown_class": '[1, {"type": "os.system", "context": "null", "children_spec": []}]',
    "that_imports": '[1, {"type": "antigravity:fly", "context": "null", "children_spec": []}]',
    "that_imports_a_factory": (
        '[1, {"type": "collections.defaultdict", "context": {"default_factory_module": "os", '
        '"default_factory_name": "system", "dict_context": "[]"}, "children_spec": []}]'
    ),
    "that_imports_an_enum": (
        '[1, {"type": "builtins.dict", "context": "[{\\"__enum__\\": true, \\"fqn\\": '
        '\\"antigravity:X\\", \\"name\\": \\"y\\"}]", "children_spec": [' + LEAF + "]}]"
    ),
    "of_another_version": f"[2, {LEAF}]",
    "without_children": '[1, {"type": "builtins.dict", "context": "[1, 2]", "children_spec": []}]',
    "without_end": '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [' * 50,
}.items():
    json_case(f"structure_{label}", structure(spec))


# -------------------------------------------------------------------------------------- weights
def weight(**fields) -> Callable:
    """Change how a weight lies in its bytes."""

    def change(config):
        entry = config["config"]["linear.weight"]
        entry["tensor_meta"].update(fields.get("meta", {}))
        entry.update(fields.get("entry", {}))

    return change


for label, change in {
    "beyond_its_bytes": weight(meta={"storage_offset": {"as_int": 1000}}),
    "with_long_strides": weight(meta={"strides": [{"as_int": 1 << 40}, {"as_int": 1}]}),
    "with_negative_strides": weight(meta={"strides": [{"as_int": -4}, {"as_int": 1}]}),
    "of_a_petabyte": weight(
        meta={"sizes": [{"as_int": 1 << 30}, {"as_int": 1 << 20}], "strides": [{"as_int": 0}] * 2}
    ),
    "of_another_dtype": weight(meta={"dtype": 8}),
    "of_another_shape": weight(meta={"sizes": [{"as_int": 2}, {"as_int": 2}]}),
    "that_is_pickled": weight(entry={"use_pickle": True}),
    "outside_of_the_folder": weight(entry={"path_name": "../../models/model.json"}),
    "with_an_expression": weight(meta={"sizes": [{"as_expr": {"expr_str": CANARY}}]}),
    "with_another_name": lambda config: config["config"].update(
        {'x"); fire(); ("': config["config"].pop("linear.weight")}
    ),
}.items():
    json_case(f"weight_{label}", change, member=WEIGHTS)


# ----------------------------------------------------------------------------------- our record
def side_case(name: str, change: Callable) -> None:
    """Register a change of our own record."""
    json_case(name, change, member=SIDE)


def clause(record):
    """The clause of the first input."""
    return record["contract"]["record"][1]["clauses"][0]["record"]


side_case("record_of_another_program", lambda r: r.update(program=1))
side_case("record_of_a_newer_format", lambda r: r.update(format=99))
side_case("record_without_symbols", lambda r: r.update(symbols=[]))
side_case("record_with_a_symbol_as_code", lambda r: r["symbols"][0].update(text=CANARY))
side_case("record_with_an_impossible_range", lambda r: r["symbols"][0].update(lower=9, upper=1))
side_case(
    "record_that_contradicts_itself",
    lambda r: r.update(stated=[["fact", "StrictLessThan(Symbol('s0'), Integer(0))", None]]),
)
side_case("record_that_states_code", lambda r: r.update(stated=[["fact", CANARY, None]]))
side_case("record_without_clauses", lambda r: r["contract"]["record"][1].update(clauses=[]))
side_case("record_with_a_wrong_field", lambda r: clause(r)[1].update(shape="none"))
side_case("record_with_an_extra_field", lambda r: clause(r)[1].update(extra=1))
side_case("record_with_a_missing_field", lambda r: clause(r)[1].pop("dtype"))
side_case("record_of_an_unknown_class", lambda r: clause(r).__setitem__(0, "os"))
side_case("record_with_other_names", lambda r: r.update(call_names={"record": ["CallNames", {}]}))
side_case("record_with_a_place_out_of_range", lambda r: r["frames"].update(runs=[[10**6]]))
side_case(
    "record_that_aliases_the_graph",
    lambda r: r.update(
        aliases={"weights": {"linear.weight": {"member": "models/model.json", "offset": 1 << 60}}}
    ),
)
side_case("record_with_an_unknown_dialect", lambda r: r.update(dialect=CANARY))
side_case("record_with_an_enum", lambda r: r.update(report={"enum": ["antigravity:X", "y"]}))
