"""The peak memory of a call on the CPU, by what its allocator says it gives out and takes back."""

import torch
from torch.profiler import ProfilerActivity, profile


def measured_peak(function, args, kwargs):
    """The most bytes alive at once of what the call allocates, kernels' own scratch included."""
    with torch.no_grad():
        function(*args, **kwargs)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
            result = function(*args, **kwargs)
            del result
    live = peak = 0
    for event in profiled.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak
