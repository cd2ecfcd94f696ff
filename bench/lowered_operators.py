"""Count which operators models come to when they are lowered, ours beside torch's, over a zoo.

    python -m bench.lowered_operators FOLDER [--only REGEX] [--append]

FOLDER holds a `zoo.py` (see bench/zoo.md). Every model is captured with fixed sizes, in a process
of its own. Two peers stand beside ours: torch's lowering of the program that torch captured, and
of the program that we captured; once with the default formulas on both sides, and once without the
formula of attention. Each pair of graphs falls into the first class that explains it, by the names
in `Verdict`. A model counts where both exporters capture it and torch lowers it in the given time.
"""

import copy
from collections import Counter
from enum import StrEnum

import torch

import monograph
from bench.results import Results
from bench.zoo_runs import over_zoo, parser_of
from monograph.host.operator_types import OpOverload
from monograph.interop import to_torch

aten = torch.ops.aten

CHECKS = {"aten._assert_tensor_metadata.default", "aten._assert_scalar.default"}
"""What torch writes beside the program: metadata that cannot differ, sizes our contract has."""

WHOLE = {aten.alias.default, aten.detach.default}
"""Views of the whole. Ours keeps `detach`, for gradients; torch makes an `alias` of it."""

VIEWS = {
    f"aten.{name}"
    for name in (
        *("view.default", "permute.default", "select.int", "slice.Tensor", "unsqueeze.default"),
        *("expand.default", "squeeze.dims", "copy.default", "as_strided.default"),
        *("split_with_sizes.default", "clone.default", "diagonal.default"),
    )
}
"""What moves values and computes none."""


REPEATABLE = frozenset(
    getattr(getattr(aten, name), overload)
    for name, overload in (
        *(("view", "default"), ("permute", "default"), ("slice", "Tensor"), ("select", "int")),
        *(("unsqueeze", "default"), ("expand", "default"), ("squeeze", "dims")),
    )
)
"""Views, which may be made again from what they show: without writes, each is the one before."""


class Verdict(StrEnum):
    """How the operators of two lowered graphs compare, from equal to unexplained."""

    SAME = "the same operators"
    BESIDE = "the same, but for checks, dead code and what changes nothing"
    FEWER = "fewer views and copies, after attention"
    ATTENTION = "one product for a layer after attention"
    OTHER = "other"


def operators(program: object) -> Counter[str]:
    """Every operator called, with how often, subgraphs included; regions are no operators."""
    return Counter(
        str(node.target)
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if isinstance(node.target, OpOverload)
    )


def computing(program: object) -> Counter[str]:
    """Operators that are used, but for checks and for what changes nothing.

    That is what `unchanged` says, and views made again of the same. Batch normalisation that
    updates its statistics and memory of any content have two names each.
    """
    module = copy.deepcopy(program.graph_module)
    found: Counter[str] = Counter()
    for child in module.modules():
        if not isinstance(child, torch.fx.GraphModule):
            continue
        views: dict[str, torch.fx.Node] = {}
        for node in list(child.graph.nodes):
            if str(node.target) in CHECKS:
                child.graph.erase_node(node)
            elif (same := unchanged(node)) is not None:
                node.replace_all_uses_with(same)
            elif node.target in REPEATABLE:
                first = views.setdefault(f"{node.target}{node.args}{node.kwargs}", node)
                if first is not node:
                    node.replace_all_uses_with(first)
        for node in reversed(list(child.graph.nodes)):
            if node.target in REPEATABLE and not node.users:
                child.graph.erase_node(node)  # also one that might be refused, which is kept
        child.graph.eliminate_dead_code()
        found.update(
            str(node.target)
            for node in child.graph.nodes
            if isinstance(node.target, OpOverload) and node.target not in WHOLE
        )
    found["aten.full_like.default"] += found.pop("aten.empty_permuted.default", 0)
    normalised = found.pop("aten._native_batch_norm_legit_functional.default", 0)
    found["aten._native_batch_norm_legit.default"] += normalised
    return +found


def unchanged(node: torch.fx.Node) -> torch.fx.Node | None:
    """Give what a node only repeats, by a view of the whole, one undone, or a copy over all.

    A copy that lies as its original changes nothing either: dropouts that are off are copies, and
    in ours their argument itself where somebody can see it; what is written to is copied in ours.
    A view of a view becomes one view on the way.
    """
    if node.target in WHOLE or (node.target is aten.clone.default and not node.kwargs):
        return node.args[0]
    if node.target is aten.slice.Tensor:
        return node.args[0] if shape_of(node) == shape_of(node.args[0]) else None
    if node.target is aten.copy.default:
        into, value = (each.meta["val"] for each in node.args[:2])
        same = into.shape == value.shape and into.dtype == value.dtype
        return node.args[1] if same else None
    if node.target is aten.view.default and node.args[0].target is aten.view.default:
        node.update_arg(0, node.args[0].args[0])
    if node.target is aten.view.default:
        return node.args[0] if shape_of(node) == shape_of(node.args[0]) else None
    if node.target is aten.permute.default and node.args[0].target is aten.permute.default:
        inner, order = node.args[0].args
        node.args = (inner, [order[dim] for dim in node.args[1]])
    if node.target is aten.permute.default:
        return node.args[0] if list(node.args[1]) == list(range(len(node.args[1]))) else None
    return None


def shape_of(node: torch.fx.Node) -> tuple[int, ...]:
    """Give the sizes of a node's value."""
    return tuple(node.meta["val"].shape)


def verdict(ours: object, theirs: object) -> tuple[Verdict, dict[str, int]]:
    """Give the class of two lowered programs, and which operators ours has more or less."""
    if operators(ours) == operators(theirs):
        return Verdict.SAME, {}
    found, expected = computing(ours), computing(theirs)
    difference = {
        name: found[name] - expected[name]
        for name in sorted({*found, *expected})
        if found[name] != expected[name]
    }
    return explained(difference), difference


def explained(difference: dict[str, int]) -> Verdict:
    """Give the class that a difference belongs to."""
    if not difference:
        return Verdict.BESIDE
    rest, n_layers = without_layers(Counter(difference))
    if any(count > 0 or name not in VIEWS for name, count in rest.items()):
        return Verdict.OTHER
    return Verdict.ATTENTION if n_layers else Verdict.FEWER


def without_layers(difference: Counter[str]) -> tuple[Counter[str], int]:
    """Take out linear layers that are products of stacks in torch's, and count them.

    Torch's attention lies otherwise once it is lowered, and the copy that user code asked for was
    left out by its capture. So the layer becomes a stack of products, and an addition if it has a
    bias; ours is one product. (Ours lies as the kernel's does: what user code asks for is there.)
    """
    n_layers = -difference["aten.bmm.default"]
    plain, biased = difference["aten.mm.default"], difference["aten.addmm.default"]
    if n_layers <= 0 or plain < 0 or biased < 0 or plain + biased != n_layers:
        return difference, 0
    rest = Counter(difference)
    rest.subtract(
        {
            "aten.bmm.default": -n_layers,
            "aten.expand.default": -2 * n_layers,
            "aten.view.default": rest["aten.view.default"],  # views of views are one already
            "aten.clone.default": max(rest["aten.clone.default"], 0),
            "aten.mm.default": plain,
            "aten.addmm.default": biased,
            "aten.add.Tensor": -biased,
        }
    )
    return Counter({name: count for name, count in rest.items() if count}), n_layers


# ------------------------------------------------------------------------------------ the zoo
PEERS = ("own capture", "our capture")
"""What torch lowers: the program that it captured, or the one that we did."""

ATTENTION = aten._scaled_dot_product_flash_attention_for_cpu.default  # noqa: SLF001 - its name
TABLES = ("", ", attention whole")
"""The default formulas on both sides, and those without the one of attention."""

COLUMNS = tuple(f"{peer}{table}" for table in TABLES for peer in PEERS)


def compared(zoo: object, name: str) -> dict[str, list]:
    """Capture and lower one model, and say of each column how it compares, or what it raises."""
    found: dict[str, list] = {}
    module, args, kwargs, _ = zoo.get(name)()
    torch.manual_seed(3)
    program = monograph.export(module, args, kwargs, strict=False)
    without = monograph.default_decompositions()
    del without[ATTENTION]
    lowered = program.run_decompositions(), program.run_decompositions(without)
    found["exceptions"] = sorted(lowered[0].exceptions)

    def captured_by_torch() -> object:
        fresh, args, kwargs, _ = zoo.get(name)()
        torch.manual_seed(3)
        return torch.export.export(fresh, args, kwargs, strict=False)

    for peer, make in zip(PEERS, (captured_by_torch, lambda: to_torch(program)), strict=True):
        captured = None
        for table, ours in zip(TABLES, lowered, strict=True):
            try:
                formulas = torch.export.default_decompositions()
                if table:
                    formulas.pop(ATTENTION)
                captured = captured or make()
                theirs = captured.run_decompositions(formulas)
            except Exception as error:  # noqa: BLE001 - whatever it raises, there is no peer
                found[peer + table] = ["", {}, f"{type(error).__name__}: {error}"[:200]]
            else:
                found[peer + table] = [*verdict(ours, theirs), ""]
    return found


def rows(found: dict[str, dict[str, list]]) -> list[tuple[str, ...]]:
    """How many models are in each class, in each column."""
    verdicts = {
        column: Counter(each[column][0] for each in found.values() if column in each)
        for column in COLUMNS
    }
    totals = {column: sum(n for name, n in verdicts[column].items() if name) for column in COLUMNS}
    table = [(each.value, *(str(verdicts[c][each.value]) for c in COLUMNS)) for each in Verdict]
    return [
        *table,
        ("models", *(str(totals[column]) for column in COLUMNS)),
        ("share with the same", *_shares(verdicts, totals, EQUAL)),
        ("share with the same or fewer", *_shares(verdicts, totals, NO_MORE)),
    ]


EQUAL = (Verdict.SAME, Verdict.BESIDE)
NO_MORE = (*EQUAL, Verdict.FEWER, Verdict.ATTENTION)
"""Ours has as many operators as torch's, or fewer, also for a layer after attention."""


def _shares(
    verdicts: dict[str, Counter[str]], totals: dict[str, int], classes: tuple[Verdict, ...]
) -> list[str]:
    """How many of all models are in these classes, in percent."""
    return [
        f"{100 * sum(verdicts[c][each.value] for each in classes) / max(totals[c], 1):.0f} %"
        for c in COLUMNS
    ]


def main() -> None:
    """Compare every model, and show how many are in each class."""
    options = parser_of(__doc__).parse_args()
    found = over_zoo(options, compared)
    shared = (options.folder / "shared.txt").read_text(encoding="utf-8").split()

    title = "Operators of lowered programs beside torch's, over the zoo, static"
    without = [name for name, each in found.items() if {"error", "failed"} & each.keys()]
    raised = {c: [n for n, e in found.items() if c in e and not e[c][0]] for c in COLUMNS}
    notes = [f"{len(found)} of the {len(shared)} models of the list."]
    notes += [f"Not captured by us: {len(without)} ({', '.join(without)})."]
    notes += [
        f"{c}: torch raises for {len(each)} ({', '.join(each)})." for c, each in raised.items()
    ]
    other = {
        name: each[column][1]
        for name, each in found.items()
        for column in COLUMNS
        if column in each and each[column][0] == Verdict.OTHER
    }
    notes += [f"Other: {name}, {difference}." for name, difference in other.items()]
    results = Results(title, ("class", *COLUMNS), rows(found), tuple(notes))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
