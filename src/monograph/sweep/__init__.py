"""Sweeps over lists of models: each captured, verified, lowered and converted in its own process.

    found = monograph.sweep("models.toml", folder="out")
    assert found, found.groups

Decision 0056. `processes` isolates, `stages` is what is done with one model, `workers` and
`ray_cluster` spread models, `results` keeps what became of them, `reports` shows it.
"""

from monograph.sweep.results import Sweep
from monograph.sweep.sweeping import sweep

__all__ = ["Sweep", "sweep"]
