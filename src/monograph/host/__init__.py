"""Every private torch name we lean on, in one place; `versions` says on which they were verified.

Rule: a function here is short, has no logic of ours, and says which private name it wraps and why
no public one will do.
"""

from monograph.host.exception_bases import register_bases
from monograph.host.versions import warn_if_unverified

register_bases()
warn_if_unverified()
