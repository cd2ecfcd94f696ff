"""Files of a few hundred bytes that cost whoever reads them much, or change what is around them.

They join the cases of `hostile.py`.
"""

from tests.archive.hostile import (
    CASES,
    change_of,
    json_case,
    machine,
    nodes,
    rename,
    with_expression,
)

N = "Symbol('s0', integer=True)"


def repeated(form: str, count: int) -> str:
    """A form with a number in it, for each number."""
    return ", ".join(form.format(n=N, i=i) for i in range(2, count))


for label, source in {
    "of_modular_towers": "ModularIndexing(" * 100 + N + ", Integer(3), Integer(5))" * 100,
    "of_minima_of_maxima": f"Min({repeated('Max({n}, Integer({i}))', 4000)})",
    "of_sums_of_quotients_multiplied": (
        f"Mul({repeated('Add(FloorDiv({n}, Integer({i})), Mod({n}, Integer({i})))', 12)})"
    ),
    "of_a_shift_by_a_size": f"LShift(Integer(1), Mul({N}, {N}))",
    "of_a_power_of_a_size": f"PowByNatural(Integer(2), Mul({N}, {N}))",
}.items():
    json_case(f"expression_{label}", with_expression(source), stock_too=False)

SHARED = b"K\x01q\0" + b"".join(b"h%c\x86q%c" % (at, at + 1) for at in range(40))
TWICE_SHARED = b"]q\0" + b"".join(b"]q%c(h%ch%ce" % (at + 1, at, at) for at in range(40))
COLLIDING = b"".join(
    b"\x8a\x0a" + (at * ((1 << 61) - 1)).to_bytes(10, "little") + b"N" for at in range(30_000)
)
CASES |= {
    "examples_share_tuples": machine(SHARED + b"\x85}\x86."),
    "examples_share_tuples_in_a_key": machine(b"}" + SHARED + b"Ns\x85}\x86."),
    "examples_share_lists": machine(TWICE_SHARED + b"\x85}\x86."),
    "examples_have_a_deep_key": machine(b"})" + b"\x85" * 1_000_000 + b"Ns\x85}\x86."),
    "examples_are_deep": machine(b")" + b"\x85" * 1_000_000 + b"\x85}\x86."),
    "examples_have_keys_that_collide": machine(b"}(" + COLLIDING + b"u\x85}\x86."),
    "examples_copy_a_text": machine(
        b"X\0\0\x10\0" + b"a" * (1 << 20) + b"q\1X\6\0\0\0latin1q\2"
        b"c_codecs\nencode\nq\3" + b"h\1h\2\x86R" + b"h\3h\1h\2\x86R" * 2000 + b"."
    ),
}


def calling(name: str, **arguments):
    """Call an operator before everything else."""
    inputs = [{"name": each, "arg": arg, "kind": 1} for each, arg in arguments.items()]
    return {
        "target": f"torch.ops.aten.{name}",
        "inputs": inputs,
        "outputs": [],
        "metadata": {},
        "is_hop_single_tensor_return": None,
        "name": "before",
    }


@change_of
def operator_that_sets_the_seed(model):
    """The generator of the process."""
    nodes(model).insert(0, calling("manual_seed.default", seed={"as_int": 1}))


@change_of
def operator_that_sets_a_mode(model):
    """The gradients of the process."""
    nodes(model).insert(0, calling("set_grad_enabled.default", val={"as_bool": False}))


@change_of
def operator_that_clears_a_cache(model):
    """The plans of the process."""
    name = "_cufft_clear_plan_cache.default"
    nodes(model).insert(0, calling(name, device_index={"as_int": 0}))


@change_of
def operator_that_prints(model):
    """The output of the process."""
    nodes(model).insert(0, calling("_print.default", s={"as_string": "x"}))


@change_of
def arithmetic_without_arguments(model):
    """A product of one number."""
    product = {**calling("x"), "target": "_operator.mul", "outputs": [{"as_none": True}]}
    product["inputs"] = [{"name": "a", "arg": {"as_int": 3}, "kind": 1}]
    nodes(model).insert(0, product)


def multiply_itself(model, made, at: int) -> None:
    """A product of a number with itself, and so on, 40 times."""
    for place in range(at, at + 40):
        result = int_result(model, f"n{place}")
        inputs = [{"name": name, "arg": {"as_sym_int": made}, "kind": 1} for name in "ab"]
        call = {**calling("x"), "target": "_operator.mul", "inputs": inputs, "outputs": [result]}
        nodes(model).insert(place, call)
        made = {"as_name": f"n{place}"}


def int_result(model, name: str):
    """The result of a call that gives an int."""
    model["graph_module"]["graph"]["sym_int_values"][name] = {"as_int": 1}
    return {"as_sym_int": {"as_name": name}}


@change_of
def products_of_products(model):
    """A number of 2**40 digits."""
    multiply_itself(model, {"as_int": 10}, 0)


@change_of
def products_of_an_integer_out_of_a_float(model):
    """Floats have no more digits in a product; what `trunc` makes of one has."""
    given = [{"name": "x", "arg": {"as_sym_float": {"as_float": 1e300}}, "kind": 1}]
    result = int_result(model, "n")
    call = {**calling("x"), "target": "math.trunc", "inputs": given, "outputs": [result]}
    nodes(model).insert(0, call)
    multiply_itself(model, {"as_name": "n"}, 1)


@change_of
def value_named_in_other_letters(model):
    """Letters that Python reads as those of another name."""
    return rename(model, "linear", "\uff4c\uff49\uff4e\uff45\uff41\uff52")


@change_of
def text_of_half_a_letter(model):
    """A text that nothing can write."""
    nodes(model)[0]["metadata"]["stack_trace"] = "\ud800"


def device(kind: str):
    """Put a tensor on a device."""

    def change(model):
        model["graph_module"]["graph"]["tensor_values"]["x"]["device"]["type"] = kind

    return change


for kind in ("hpu", "privateuseone", "xla"):
    json_case(f"device_{kind}", device(kind))
