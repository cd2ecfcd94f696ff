"""Message templates: one function per name, in files by what a message is about.

Every file is imported, and so enters its messages: a new family is a new file and nothing else.
"""

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_family.name)
