"""Files drawn from the grammar of the format, as a hostile writer would: whole documents.

`python -m tests.archive.grammar FIRST COUNT` draws files of these seeds and does with each all that
is done with a program: load, print, call, lower, write as text, unflatten. It prints the seed
before, so that whoever started it knows which file killed it; `test_grammar.py` starts it.
"""

import json
import random
import resource
import struct
import sys
import time
import warnings
import zlib
from contextlib import contextmanager

import torch

import monograph
from monograph.diagnostics import BugError, MonographError
from tests.archive import hostile
from tests.archive.peers import loaded, loaded_there, saved_there
from tests.archive.watching import forgotten_peak, in_status

SECONDS, MEGABYTES = 5, 500
SPACE = 6 << 30
"""What a worker may map beyond what it has when it begins."""

NAMES = (
    *("x", "y", "weight", "a", "a.b", "a.b.c", "a_b", "add", "add_1", "graph", "code", "_graph"),
    *("forward", "_parameters", "_modules", "training", "__class__", "__dict__", "_guards_fn"),
    *("import", "class", "None", "self", "torch", "flat_inputs", "lambda", "print", "submod"),
    *("\uff58", "\uff4c\uff49\uff4e\uff45\uff41\uff52", "\ufb01", "x.", ".x", "", "a..b", " ", "0"),
    *("a\nb", 'a"b', "a'b", '"""', "x" * 2000, "\ud800", "a;b", "a,b", "L__self__", "L['x']"),
)
INTS = (0, 1, 2, 3, 4, 7, -1, -2, 64, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63), 1 << 70)
FLOATS = (0.0, 0.5, -1.5, 1e308, 5e-324, "Infinity", "NaN", "-Infinity")
DEVICES = (
    "cpu",
    "cpu",
    "cpu",
    "meta",
    "cuda",
    "hpu",
    "privateuseone",
    "xla",
    "mtia",
    "mps",
    "vulkan",
)
OPERATORS = (
    *(
        "relu.default",
        "neg.default",
        "exp.default",
        "clone.default",
        "detach.default",
        "sum.default",
    ),
    *("add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor", "matmul.default", "linear.default"),
    *("pow.Tensor_Scalar", "view.default", "reshape.default", "permute.default", "transpose.int"),
    *("unsqueeze.default", "squeeze.dim", "slice.Tensor", "select.int", "expand.default"),
    *("as_strided.default", "zeros.default", "full.default", "arange.default", "rand.default"),
    *(
        "add_.Tensor",
        "copy_.default",
        "zero_.default",
        "topk.default",
        "split.Tensor",
        "cat.default",
    ),
    *("unbind.int", "max.dim", "sort.default", "sym_size.int", "item.default", "where.self"),
    *("nonzero.default", "index.Tensor", "gather.default", "embedding.default", "softmax.int"),
    *("layer_norm.default", "dropout.default", "to.dtype", "resize_.default", "set_data.default"),
    *("_assert_scalar.default", "_assert_tensor_metadata.default", "sym_constrain_range.default"),
    *("requires_grad_.default", "conv2d.default", "scaled_dot_product_attention.default"),
    *("manual_seed.default", "set_grad_enabled.default", "from_file.default", "_print.default"),
    *("warn.default", "save.default", "is_grad_enabled.default", "_cufft_clear_plan_cache.default"),
)
PLAIN = (
    *(f"_operator.{name}" for name in ("add", "mul", "sub", "floordiv", "mod", "pow", "lshift")),
    *("_operator.getitem", "math.ceil", "torch.sym_max", "torch.sym_not", "builtins.round"),
    *("torch.sym_float", "_operator.truediv", "builtins.eval", "os.system"),
)


class Draw:
    """One document; `evil` is how often a choice is a hostile one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.evil = self.random.choice((0.0, 0.0, 0.01, 0.03, 0.1))
        self.symbols = [f"s{at}" for at in range(self.random.randrange(3))]
        self.tensors: dict[str, dict] = {}
        self.numbers: dict[str, dict] = {}
        self.made: list[str] = []

    def is_evil(self) -> bool:
        """Whether this choice is a hostile one."""
        return self.random.random() < self.evil

    def pick(self, values):
        """One of several."""
        return self.random.choice(values)

    # --- leaves ----------------------------------------------------------------------------------

    def name(self, base: str) -> str:
        """A new name of a value."""
        return self.pick(NAMES) if self.is_evil() else f"{base}_{len(self.made)}"

    def integer(self) -> int:
        """An integer."""
        return self.pick(INTS) if self.is_evil() else self.random.randrange(5)

    def expression(self, depth: int = 3) -> str:
        """An expression in sympy's constructors, or of the hostile kinds."""
        symbol = self.pick(self.symbols)
        if self.is_evil():
            return self.pick(TOWERS)(
                f"Symbol('{symbol}', integer=True)", self.random.randrange(400)
            )
        if depth == 0 or self.random.random() < 0.3:
            return f"Symbol('{symbol}', integer=True)"
        head = self.pick(("Add", "Mul", "Max", "Min", "FloorDiv", "Mod", "ModularIndexing", "Pow"))
        inner = [self.expression(depth - 1) for _ in range(2)]
        if head in {"FloorDiv", "Mod", "Pow"}:
            inner[1] = f"Integer({self.pick((1, 2, 3))})"
        return (
            f"{head}({', '.join([*inner, 'Integer(3)'][: 3 if head == 'ModularIndexing' else 2])})"
        )

    def condition(self) -> str:
        """A condition as files state them."""
        source = self.pick(("L['x'].size()[0]", "L['y'].size()[0]", "L['args'][0].size()[0]"))
        if self.is_evil():
            source = self.pick(TOWERS)(source, self.random.randrange(400))
        return f"{source} {self.pick(('>=', '<', '!=', '=='))} {self.integer()}"

    def size(self) -> dict:
        """A size."""
        if self.symbols and self.random.random() < 0.3:
            return {"as_expr": {"expr_str": self.expression(), "hint": {"as_int": self.integer()}}}
        return {"as_int": self.integer() if self.is_evil() else self.pick((1, 2, 3, 3))}

    def device(self) -> dict:
        """A device."""
        return {"type": self.pick(DEVICES) if self.is_evil() else "cpu", "index": None}

    def meta(self, sizes=None) -> dict:
        """The type of a tensor."""
        sizes = [self.size() for _ in range(self.random.randrange(3))] if sizes is None else sizes
        strides = [{"as_int": 1} for _ in sizes]
        return {
            "dtype": self.integer() if self.is_evil() else self.pick((7, 7, 7, 5, 12)),
            "sizes": sizes,
            "requires_grad": self.is_evil(),
            "device": self.device(),
            "strides": strides,
            "storage_offset": {"as_int": self.integer() if self.is_evil() else 0},
            "layout": self.integer() if self.is_evil() else 7,
        }

    # --- graphs ----------------------------------------------------------------------------------

    def tensor(self, base: str, sizes=None) -> str:
        """Declare a tensor; gives its name."""
        name = self.name(base)
        self.tensors[name] = self.meta(sizes)
        self.made.append(name)
        return name

    def used(self) -> str:
        """The name of a value."""
        return self.pick(NAMES) if self.is_evil() or not self.made else self.pick(self.made)

    def argument(self, kind: str) -> dict:
        """An argument of a parameter of this type."""
        if self.is_evil():
            kind = self.pick(
                ("Tensor", "int", "float", "bool", "str", "Device", "int[]", "Tensor[]")
            )
        if "Tensor[]" in kind or "List[Tensor]" in kind or "List[Optional[Tensor]]" in kind:
            return {"as_tensors": [{"name": self.used()} for _ in range(self.random.randrange(3))]}
        if "List[" in kind or "[]" in kind:
            return {"as_ints": [self.integer() for _ in range(self.random.randrange(4))]}
        if "Tensor" in kind:
            return {"as_tensor": {"name": self.used()}}
        if "bool" in kind:
            return {"as_bool": self.pick((True, False))}
        if "str" in kind:
            return {"as_string": self.pick(NAMES) if self.is_evil() else "sum"}
        if "Device" in kind or "device" in kind:
            return {"as_device": self.device()}
        if kind in {"float", "number", "Scalar"}:
            return {"as_float": self.pick(FLOATS) if self.is_evil() else 0.5}
        return {"as_int": self.integer()}

    def call(self) -> dict:
        """A call of an operator."""
        if self.numbers and self.random.random() < 0.2:
            return self.arithmetic()
        name = self.pick(OPERATORS[:-8]) if not self.is_evil() else self.pick(OPERATORS)
        packet, _, overload = name.partition(".")
        found = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        inputs = []
        if found is None:
            outputs = [{"as_tensor": {"name": self.tensor(packet)}}]
        else:
            schema = found._schema
            for each in schema.arguments:
                is_needed = not each.has_default_value()
                if is_needed or self.random.random() < 0.1:
                    arg = self.argument(str(each.type))
                    inputs.append({"name": each.name, "arg": arg, "kind": 1 if is_needed else 2})
            outputs = [self.result(packet, str(each.type)) for each in schema.returns]
        return {
            "target": f"torch.ops.aten.{name}",
            "inputs": inputs,
            "outputs": outputs,
            "metadata": {"stack_trace": "", "nn_module_stack": self.stack()},
            "is_hop_single_tensor_return": None,
        }

    def stack(self) -> str:
        """Which modules a call is in."""
        path = self.pick(NAMES) if self.is_evil() else self.pick(("", "a", "a.b"))
        return f"root,,Model;{path},{path},Inner" if path else "root,,Model"

    def result(self, base: str, kind: str) -> dict:
        """A result of this type."""
        if "List" in kind:
            return {"as_tensors": [{"name": self.tensor(base)} for _ in range(2)]}
        if "Tensor" in kind:
            return {"as_tensor": {"name": self.tensor(base)}}
        return self.number(base)

    def number(self, base: str) -> dict:
        """A symbolic integer."""
        name = self.name(base)
        self.numbers[name] = self.size()
        self.made.append(name)
        return {"as_sym_int": {"as_name": name}}

    def arithmetic(self) -> dict:
        """Arithmetic of sizes."""
        target = self.pick(PLAIN) if self.is_evil() else self.pick(PLAIN[:5])
        names = [each for each in self.made if each in self.numbers] or [self.used()]
        given = [
            {"as_sym_int": {"as_name": self.pick(names)}}
            if self.random.random() < 0.7
            else {"as_int": self.integer()}
            for _ in range(2)
        ]
        inputs = [{"name": "a", "arg": each, "kind": 1} for each in given]
        outputs = [self.number("size")]
        return {"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}}

    def region(self) -> dict:
        """A region: a branch, a mode, or a loop that ends, with a graph of its own."""
        outer, self.made = self.made, []
        inner = {"inputs": [{"as_tensor": {"name": self.tensor("arg")}}]}
        inner["nodes"] = [self.call() for _ in range(self.random.randrange(3))]
        inner["outputs"] = [{"as_tensor": {"name": self.used()}}]
        inner |= {"tensor_values": self.tensors, "sym_int_values": self.numbers}
        self.made = outer
        graph = {"as_graph": {"name": self.name("submod"), "graph": inner}}
        flag, operand = {"as_bool": self.pick((True, False))}, {"as_tensor": {"name": self.used()}}
        given = {
            "cond": [flag, graph, graph, {"as_tensors": [operand["as_tensor"]]}],
            "wrap_with_set_grad_enabled": [flag, graph, operand],
            "map_impl": [graph, {"as_tensors": [operand["as_tensor"]]}, {"as_tensors": []}],
        }
        kind = self.pick(list(given))
        return {
            "target": f"torch.ops.higher_order.{kind}",
            "inputs": [{"name": "", "arg": each, "kind": 1} for each in given[kind]],
            "outputs": [{"as_tensor": {"name": self.tensor(kind)}}],
            "metadata": {},
            "is_hop_single_tensor_return": False,
        }

    # --- the document ----------------------------------------------------------------------------

    def structure(self, leaves: int) -> str:
        """A structure of so many inputs."""
        leaf = {"type": None, "context": None, "children_spec": []}
        kind, context = "builtins.tuple", "null"
        if self.is_evil():
            kind = self.pick(("collections.deque", "builtins.list", "os.system", "builtins.object"))
            context = self.pick(("null", "[]", "1", '{"__enum__": true}', "[" * 90))
        inner = {"type": kind, "context": context, "children_spec": [leaf] * leaves}
        for _ in range(self.pick((0, 70, 3000)) if self.is_evil() else 0):
            inner = {"type": "builtins.tuple", "context": "null", "children_spec": []}
        empty = {"type": "builtins.dict", "context": "[]", "children_spec": []}
        return json.dumps(
            [1, {"type": "builtins.tuple", "context": "null", "children_spec": [inner, empty]}]
        )

    def model(self) -> tuple[dict, dict[str, dict]]:
        """The program, and the types of its state."""
        inputs, specs, state = [], [], {}
        for _ in range(self.random.randrange(3)):
            target = self.pick(NAMES) if self.random.random() < self.evil * 3 else f"n{len(state)}"
            name = self.tensor("p", [{"as_int": self.pick((1, 2, 3))}])
            state[target] = self.tensors[name]
            inputs.append({"as_tensor": {"name": name}})
            spec = {"arg": {"name": name}}
            kind = self.pick(("parameter", "buffer"))
            specs.append(
                {
                    kind: {**spec, f"{kind}_name": target}
                    | ({"persistent": True} if kind == "buffer" else {})
                }
            )
        count = self.random.randrange(1, 3)
        users = [self.tensor("x") for _ in range(count)]
        inputs += [{"as_tensor": {"name": name}} for name in users]
        specs += [{"user_input": {"arg": {"as_tensor": {"name": name}}}} for name in users]
        nodes = [
            self.region() if self.random.random() < 0.05 else self.call()
            for _ in range(self.random.randrange(1, 7))
        ]
        results = [self.used() for _ in range(2)]
        outputs = [
            {"as_sym_int": {"as_name": name}}
            if name in self.numbers
            else {"as_tensor": {"name": name}}
            for name in results
        ]
        leaf = {"type": None, "context": None, "children_spec": []}
        out_spec = {"type": "builtins.tuple", "context": "null", "children_spec": [leaf, leaf]}
        call = {
            "inputs": [],
            "outputs": [],
            "in_spec": self.structure(count),
            "out_spec": json.dumps([1, out_spec]),
            "forward_arg_names": [
                self.pick(NAMES) if self.is_evil() else f"i{at}" for at in range(count)
            ],
        }
        model = {
            "graph_module": {
                "graph": {
                    "inputs": inputs,
                    "outputs": outputs,
                    "nodes": nodes,
                    "tensor_values": self.tensors,
                    "sym_int_values": self.numbers,
                    "sym_bool_values": {},
                    "sym_float_values": {},
                    "is_single_tensor_return": False,
                    "custom_obj_values": {},
                },
                "signature": {
                    "input_specs": specs,
                    "output_specs": [{"user_output": {"arg": each}} for each in outputs],
                },
                "module_call_graph": [{"fqn": "", "signature": call}],
                "metadata": {},
            },
            "opset_version": {"aten": 10},
            "range_constraints": {
                each: {"min_val": self.pick((0, 1, 2)), "max_val": self.pick((None, 64, 1 << 40))}
                for each in self.symbols
            },
            "schema_version": {"major": 8, "minor": 8},
            "verifiers": ["TRAINING"],
            "torch_version": "2.13.0",
            "guards_code": [
                self.condition() for _ in range(self.random.randrange(2)) if self.is_evil()
            ],
        }
        return model, state

    def weights(self, state: dict[str, dict]) -> tuple[dict, dict[str, bytes]]:
        """The configuration of weights, and their bytes."""
        config, blobs = {}, {}
        for at, (target, meta) in enumerate(state.items()):
            path = self.pick(NAMES) if self.is_evil() else f"weight_{at}"
            blobs[f"archive/data/weights/weight_{at}"] = bytes(64)
            config[target] = {
                "path_name": path,
                "is_param": self.pick((True, False)),
                "use_pickle": self.is_evil(),
                "tensor_meta": meta,
            }
        return {"config": config}, blobs

    def pickle(self) -> bytes:
        """Instructions of the stack machine: shared, deep, colliding, or mixed."""
        count = self.pick((3, 40, 2000, 200_000)) if self.is_evil() else 2
        shared = b"".join(b"h%c\x86q%c" % (at, at + 1) for at in range(min(count, 200)))
        colliding = b"".join(
            b"\x8a\x0a" + (at * ((1 << 61) - 1)).to_bytes(10, "little") + b"K\x01"
            for at in range(min(count, 5000))
        )
        key = self.pick((b"", b"K\x01s"))
        body = self.pick(
            (
                b"K\x01q\0" + shared,
                b"K\x01q\0" + shared + b"}q\xff0h%cK\x01s" % min(count, 200),
                b"})" + b"\x85" * count + (key or b"K\x02s"),
                b"](" + b"K\x01" * count + b"e",
                b"}(" + colliding + b"u",
                b"]q\0" + b"h\0a" * min(count, 50),
                b"ccollections\nOrderedDict\n)R" + b"".join(self.instructions(count)),
                b"X" + struct.pack("<I", count) + b"a" * count,
            )
        )
        return b"\x80\x02" + body + self.pick((b"\x85}\x86.", b"."))

    def instructions(self, count: int) -> list[bytes]:
        """Any instructions."""
        some = (
            b"N",
            b")",
            b"]",
            b"}",
            b"K\x07",
            b"\x85",
            b"\x86",
            b"(",
            b"t",
            b"a",
            b"s",
            b"q\0",
            b"h\0",
            b"R",
            b"b",
            b"Q",
        )
        return [self.pick(some) for _ in range(min(count, 500))]


TOWERS = (
    lambda n, c: "Min(" + ", ".join(f"Max({n}, Integer({at}))" for at in range(c + 2)) + ")",
    lambda n, c: "ModularIndexing(" * (c % 60) + n + ", Integer(3), Integer(5))" * (c % 60),
    lambda n, c: "FloorDiv(" * c + n + ", Integer(2))" * c,
    lambda n, c: (
        "Mul(" + ", ".join(f"FloorDiv({n}, Integer({at + 2}))" for at in range(c + 2)) + ")"
    ),
    lambda n, c: "Add(" + ", ".join(f"Mod({n}, Integer({at + 2}))" for at in range(c + 2)) + ")",
    lambda n, c: "Mul(" + ", ".join(f"Add({n}, Integer({at}))" for at in range(c % 12 + 2)) + ")",
    lambda n, c: f"Pow({n}, Integer({c}))",
    lambda n, c: f"PowByNatural(Integer(2), {n})",
    lambda n, c: f"LShift({n}, {n})",
    lambda n, c: "(" * c * 10 + n + ")" * c * 10,
    lambda n, c: "Mod(Mul(" * (c % 40) + n + f", {n}), FloorDiv({n}, Integer(3)))" * (c % 40),
)
"""Expressions that grow: of a symbol and a count."""


def drawn(seed: int, ours: list[dict[str, bytes]]) -> bytes:
    """Draw a file: a document of torch's, or one of ours with parts drawn anew."""
    draw = Draw(seed)
    if draw.random.random() < 0.4:
        return changed(draw, draw.pick(ours))
    model, state = draw.model()
    config, blobs = draw.weights(state)
    members = {
        **blobs,
        "archive/data/weights/model_weights_config.json": encoded(config),
        "archive/data/constants/model_constants_config.json": b'{"config": {}}',
        hostile.MODEL: encoded(model),
        "archive/archive_format": b"pt2",
        "archive/archive_version": b"0",
        "archive/byteorder": b"little",
    }
    if draw.random.random() < 0.1:
        members[hostile.EXAMPLES] = with_pickle(draw.pickle())
    return hostile.written(members)


def encoded(value) -> bytes:
    """JSON."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


def with_pickle(code: bytes) -> bytes:
    """Examples that are these instructions."""
    return hostile.written({"archive/data.pkl": code, "archive/byteorder": b"little"})


def changed(draw: Draw, members: dict[str, bytes]) -> bytes:
    """A good file with expressions, names or examples drawn anew, in the graph and our record."""
    members = dict(members)
    draw.symbols = ["s0", "s1"]
    draw.evil = 1.0
    for member in (hostile.MODEL, hostile.SIDE):
        if member not in members or draw.random.random() < 0.4:
            continue
        value = json.loads(members[member])
        for _ in range(draw.pick((1, 2, 4))):
            replace(draw, value)
        members[member] = encoded(value)
    if draw.random.random() < 0.2:
        members[hostile.EXAMPLES] = with_pickle(draw.pickle())
    if hostile.SIDE in members:
        side = json.loads(members[hostile.SIDE])
        side["program"] = zlib.crc32(members[hostile.MODEL])
        members[hostile.SIDE] = encoded(side)
    return hostile.written(members)


def replace(draw: Draw, value) -> None:
    """Put what the grammar has there in the place of one value, by the key that it is under."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        items = each.items() if isinstance(each, dict) else enumerate(each)
        for key, inner in list(items):
            found.append((each, key))
            if isinstance(inner, dict | list):
                waiting.append(inner)
    container, key = draw.pick(found)
    old = container[key]
    if isinstance(old, str):
        is_expression = "(" in old or key in {"expr_str", "expr"}
        new = draw.expression() if is_expression else draw.pick((*NAMES, *OPERATORS, *DEVICES))
    elif isinstance(old, bool):
        new = not old
    elif isinstance(old, int):
        new = draw.pick(INTS)
    elif isinstance(old, dict) and "type" in old:
        new = draw.device()
    elif isinstance(old, list):
        new = old * 2 if len(old) < 50 else []
    else:
        new = draw.argument("int")
    container[key] = new


# --------------------------------------------------------------------------------- the worker
@contextmanager
def bounded(what: str):
    """Hold that a step raises diagnostics alone, and takes neither long nor much memory."""
    before, start = forgotten_peak(), time.process_time()
    try:
        yield
    except BugError as error:
        raise AssertionError(f"{what}: {error}"[:2000]) from error
    except MonographError:
        pass
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}"[:2000]) from error
    took, grown = time.process_time() - start, in_status("VmHWM") - before
    assert took < SECONDS, f"{what} took {took:.1f} s"
    assert grown < MEGABYTES << 20, f"{what} took {grown >> 20} MB"


def inputs_for(program) -> tuple[tuple, dict]:
    """Arguments of the structure and the types that a contract asks for."""
    leaves = []
    for clause in program.contract.clauses:
        shape = [
            each if isinstance(each, int) and each < 8 else 3
            for each in getattr(clause, "shape", ())
        ]
        is_tensor = hasattr(clause, "dtype")
        leaves.append(
            torch.zeros(shape, dtype=clause.dtype) if is_tensor else getattr(clause, "value", 1)
        )
    return torch.utils._pytree.tree_unflatten(leaves, program.in_spec)


def used(content: bytes) -> bool:
    """Do with a file what is done with a program; gives whether it is one."""
    program = None
    with bounded("load"):
        program = loaded(content)
    if program is None:
        return False
    args, kwargs = (), {}
    with bounded("inputs"):
        args, kwargs = inputs_for(program)
    for what, step in {
        "str": lambda: str(program),
        "repr": lambda: repr(program) + repr(program.contract) + str(program.guards),
        "print_readable": lambda: program.graph_module.print_readable(print_output=False),
        "call": lambda: program.module()(*args, **kwargs),
        "call with other inputs": lambda: program.module()(torch.zeros(2), 1, x=None),
        "code": lambda: program.module().code,
        "lower": lambda: program.run_decompositions().module()(*args, **kwargs),
        "to_python": lambda: compile(program.to_python(), "text", "exec"),
        "unflatten": lambda: monograph.unflatten(program)(*args, **kwargs),
    }.items():
        with bounded(what):
            step()
    return True


def surroundings() -> tuple:
    """What no program may change."""
    return torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()


def main(first: int, count: int) -> None:
    """Use files, and say how many were programs."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1000)
    good = hostile.good()
    ours = [hostile.members_of(good), hostile.members_of(saved_there(loaded_there(good)))]
    used(good)  # everything is imported
    limit = in_status("VmSize") + SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before, programs = surroundings(), 0
    for seed in range(first, first + count):
        sys.stdout.write(f"seed {seed}\n")
        sys.stdout.flush()
        programs += used(drawn(seed, ours))
        assert surroundings() == before, "the surroundings are others now"
        assert not hostile.FIRED, "code of the file ran"
    sys.stdout.write(f"programs {programs}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
