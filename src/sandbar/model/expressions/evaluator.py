"""The evaluator alone. The door of its package also loads an interactive shell: a quarter of what
starting takes, and memory that nobody uses.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["cel"]

_NAME = "cel.cel"


def _evaluator() -> ModuleType:
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    package = find_spec("cel")  # looks for it, and runs nothing of it
    assert package is not None
    spec = PathFinder.find_spec(_NAME, package.submodule_search_locations)
    assert spec is not None
    assert spec.loader is not None
    # Under its own name: it can be loaded once only, and somebody else may import the package.
    module = sys.modules[_NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import cel
else:
    cel = _evaluator()
