"""Backends that fail, each in its way; scripts of `minify` load this file."""

import torch


def no_tanh(graph, inputs):
    """It cannot compile one operator."""
    if any(node.target is torch.tanh for node in graph.graph.nodes):
        raise NotImplementedError("tanh is not supported")
    return graph.forward


def fails_at_run_time(graph, inputs):
    """What it compiles raises where two operators meet."""
    names = [getattr(node.target, "__name__", node.target) for node in graph.graph.nodes]

    def run(*args):
        if "relu" in names and "softmax" in names:
            raise RuntimeError(f"kernel of {len(args)} inputs failed")
        return graph.forward(*args)

    return run


def wrong_numbers(graph, inputs):
    """It computes one operator wrongly, if numbers are above one."""

    def run(*args):
        results = graph.forward(*args)
        if any(node.target is torch.exp for node in graph.graph.nodes):
            return tuple(each * (1 + (each > 1) * 0.1) for each in results)
        return results

    return run


def fails_in_backward(graph, inputs):
    """What it compiles of one operator has no backward pass."""
    is_there = any(node.target is torch.tanh for node in graph.graph.nodes)

    def fail(grad):
        raise RuntimeError("no backward kernel of tanh")

    return _hooked(graph, fail if is_there else None)


def wrong_gradients(graph, inputs):
    """It computes the gradient of one operator wrongly."""
    is_there = any(node.target is torch.exp for node in graph.graph.nodes)
    return _hooked(graph, (lambda grad: grad * 1.5) if is_there else None)


def _hooked(graph, hook):
    def run(*args):
        results = graph.forward(*args)
        for each in results:
            if hook is not None and each.requires_grad:
                each.register_hook(hook)
        return results

    return run
