"""What a check in one of several processes finds."""

from monograph import MonographError


def found_by(check):
    """What a check says, or raises."""
    try:
        return check()
    except MonographError as error:
        diagnostic = getattr(error, "diagnostic", None)
        return diagnostic.name if diagnostic is not None else str(error)
    except Exception as error:  # noqa: BLE001  (the test tells)
        return f"{type(error).__name__}: {error}"[:400]


def nodes(program):
    """All nodes of a program and of its subgraphs."""
    graphs = (each.graph for each in program.graph_module.modules() if hasattr(each, "graph"))
    return [node for graph in graphs for node in graph.nodes]
