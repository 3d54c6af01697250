"""Every example in a docstring runs. (`pytest --doctest-modules` cannot: it would import the package twice.)"""

import doctest
import importlib
import pkgutil

import pytest

import shoal


def module_names() -> list[str]:
    """Every module that is a library, not a program of its own."""
    found = ["shoal", *(info.name for info in pkgutil.walk_packages(shoal.__path__, "shoal."))]
    outside = ("shoal.tests", "shoal.benchmarks", "shoal.examples", "shoal.docs", "shoal.__main__")
    return [name for name in found if not name.startswith(outside)]


@pytest.mark.parametrize("name", module_names())
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_there_are_examples() -> None:
    """Guards the walk itself: an empty one would pass."""
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in module_names()]
    assert sum(bool(case.examples) for module in modules for case in finder.find(module)) > 20
