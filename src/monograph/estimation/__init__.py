"""Estimation: what a program costs before it runs, as formulas in its symbolic sizes."""

from monograph.estimation import flop_formulas
from monograph.estimation.costs import OperatorCost
from monograph.estimation.estimate import Estimate, ModuleCost, estimate, work_of
from monograph.estimation.flop_registry import flop_formula
from monograph.estimation.memory import Point
from monograph.estimation.roofline import Device, Roofline

__all__ = [
    "Device",
    "Estimate",
    "ModuleCost",
    "OperatorCost",
    "Point",
    "Roofline",
    "estimate",
    "flop_formula",
    "flop_formulas",
    "work_of",
]
