"""Names and modules that are imported when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

PACKAGE = __name__.partition(".")[0]


def names_from(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a module whose names are defined in others, by name."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{PACKAGE}.{homes[name]}"), name)
        setattr(sys.modules[module], name, value)  # where it is looked up from now on
        return value

    return load


def modules_of(package: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that imports its modules."""

    def load(name: str) -> object:
        place = f"{package}.{name}"
        try:
            return import_module(place)
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
