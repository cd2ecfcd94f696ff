"""Capture (tracing): user code is run once on abstract tensors, and becomes a graph."""

from monograph.capture.all_problems import Draft, all_problems, drafts
from monograph.capture.captured import Capture, RecoveredRefusal
from monograph.capture.inputs.declarations import check_declarations
from monograph.capture.interpreted_instead import capture_or_interpret
from monograph.capture.recovery.custom_operators import check_custom_op
from monograph.capture.run_options import ExportingAnswers
from monograph.capture.running import capture
from monograph.capture.tracing import ControlFlow, Request

__all__ = [
    "Capture",
    "ControlFlow",
    "Draft",
    "ExportingAnswers",
    "RecoveredRefusal",
    "Request",
    "all_problems",
    "capture",
    "capture_or_interpret",
    "check_custom_op",
    "check_declarations",
    "drafts",
]
