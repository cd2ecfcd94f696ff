"""User code becomes a graph: run once on abstract tensors, every operator call recorded."""

from monograph.capture.inputs.declarations import check_declarations
from monograph.capture.recovery.all_problems import Draft, all_problems, draft
from monograph.capture.recovery.custom_operators import check_custom_op
from monograph.capture.recovery.error_recovery import RecoveredRefusal
from monograph.capture.running import Capture, ControlFlow, Request, capture

__all__ = [
    "Capture",
    "ControlFlow",
    "Draft",
    "RecoveredRefusal",
    "Request",
    "all_problems",
    "capture",
    "check_custom_op",
    "check_declarations",
    "draft",
]
