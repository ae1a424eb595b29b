"""The part of an operator in the laws: a module each, with the name of its method.

`text`: a random relation of it. `meaning`: its rows on whole relations. `CERTAIN`: a relation over `r(k, x)`, and
whether what passes is exactly what is certain. `SAFE`: a relation over the streams of `test_safety.py`.
"""

from importlib import import_module
from pkgutil import iter_modules

OPERATORS = {module.name: import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)}
"""Method of an operator -> its module. Older operators are in the tests themselves."""
