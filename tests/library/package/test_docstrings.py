"Every public name explains itself: numpydoc reads the docstring and finds each parameter."

import doctest
import importlib
import inspect
import pkgutil
import re
import sys
from enum import EnumType
from pathlib import Path
from types import FunctionType

import pytest

import extreme_opt
from extreme_opt.core.validation import Checked

validate = pytest.importorskip('numpydoc.validate', reason='needs the docs extra').validate
ROOT = Path(extreme_opt.__file__).parent
PACKAGES = ('core', 'data', 'softmax', 'similarity', 'ordinal', 'bound', 'scale', 'show', 'lab')
WHOLE = {'GL07', 'GL08', 'PR01', 'PR02', 'PR03', 'PR04', 'PR05', 'PR06', 'PR10', 'RT02', 'SS03'}


def faults(value, codes):
    "Faults of these codes that numpydoc finds in the docstring of a class or function."
    name = f'{value.__module__}.{value.__qualname__}'
    return [f'{name}: {code} {said}' for code, said in validate(name)['errors'] if code in codes]


def takes_nothing(value):
    "Protocols are not called, and members of an enumeration are taken by name."
    return getattr(value, '_is_protocol', False) or issubclass(type(value), EnumType)


def public(package):
    "Public classes and functions of a package."
    module = importlib.import_module(f'extreme_opt.{package}')
    return [value for name in module.__all__ if callable(value := getattr(module, name))]


@pytest.mark.parametrize('package', PACKAGES)
def test_parameters_are_described(package):
    assert [
        fault
        for value in public(package)
        for fault in faults(value, WHOLE - {'PR01'} if takes_nothing(value) else WHOLE)
    ] == []


@pytest.mark.parametrize('package', PACKAGES)
def test_types_are_no_links(package):
    "On the site a word that ends in an underscore is a link to a place of that name."
    assert [
        f'{value.__qualname__}: {line.strip()}'
        for value in public(package)
        for line in (value.__doc__ or '').splitlines()
        if re.search(r'^ *[\w, ]+ : [^`]*\w_(?!\w)', line)
    ] == []


@pytest.mark.parametrize('package', PACKAGES)
def test_examples_of_docstrings_run(package):
    run = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for value in public(package):
        names = dict(vars(sys.modules[value.__module__]))
        for test in doctest.DocTestFinder(recurse=False).find(value, value.__name__, globs=names):
            run.run(test)
    assert run.failures == 0


@pytest.mark.parametrize('package', PACKAGES)
def test_methods_say_what_they_do(package):
    assert [
        fault
        for value in public(package)
        if isinstance(value, type)
        for name, method in vars(value).items()
        if not name.startswith('_') and callable(method) and hasattr(method, '__qualname__')
        for fault in faults(method, {'GL08'})
    ] == []


def described_methods():
    "Methods of problems and solvers that a protocol, or the methods beside it, describe for all."
    from extreme_opt.core import problem, solver

    told = [solver.Solver, solver.SolverMethods, *problem._DESCRIBED]
    names = {name for one in told for name, told in vars(one).items() if callable(told)}
    kinds = {
        value
        for package in PACKAGES
        for module in pkgutil.iter_modules([f'{ROOT}/{package}'])
        for value in vars(importlib.import_module(f'extreme_opt.{package}.{module.name}')).values()
        if isinstance(value, type)
        and (issubclass(value, (problem.Fixed, Checked)) or isinstance(value, solver.Solver))
        and value.__name__[0] != '_'
    }
    return {
        f'{kind.__name__}.{name}': vars(kind)[name]
        for kind in sorted(kinds, key=lambda kind: kind.__qualname__)
        for name in sorted(names & vars(kind).keys())
        if name[0] != '_' and isinstance(vars(kind)[name], FunctionType)
    }


def test_methods_of_problems_and_solvers_describe_what_they_take():
    "`help(SGD.step)` has a sentence and each argument, wherever they are written."
    from numpydoc.docscrape import FunctionDoc

    methods = described_methods()
    assert len(methods) > 140
    for name, method in methods.items():
        found = FunctionDoc(method)
        taken = [one for one in inspect.signature(method).parameters if one != 'self']
        described = [one.name for one in found['Parameters']]
        assert found['Summary'] and described == taken, f'{name}: {described} of {taken}'


def test_a_missing_parameter_is_found(monkeypatch):
    from extreme_opt.core import minimize

    monkeypatch.setattr(
        minimize, '__doc__', 'Run a solver.\n\nParameters\n----------\nproblem : object\n    Any.\n'
    )
    assert any('PR01' in fault for fault in faults(minimize, WHOLE))
