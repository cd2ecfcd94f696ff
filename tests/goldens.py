"""Golden files of messages, as Python 3.11 gives them: later versions know columns more exactly."""

import re
import sys

EXACT = sys.version_info < (3, 12)
PLACE = re.compile(r"^error\[[\w-]+\]|^ *--> \S+", re.MULTILINE)


def compared(text):
    """What is compared of a golden: elsewhere than on 3.11, names and lines, not what is quoted."""
    return text if EXACT else PLACE.findall(text)
