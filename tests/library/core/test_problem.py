"Problems and solvers meet through protocols, and errors say who is missing what."

import inspect
import pickle
from dataclasses import FrozenInstanceError, fields
from typing import Protocol

import numpy as np
import pytest
from refusals import refuses

from extreme_opt import bound, core, ordinal, similarity, softmax
from extreme_opt.core import LBFGS, SGD, GradientDescent, LeastSquares, Problem, Solver, minimize
from extreme_opt.core.docstrings import extend_sections, inherit_sections
from extreme_opt.core.majorize import Majorizer
from extreme_opt.core.problem import (
    Majorizable,
    SecondOrder,
    check_compatible,
    missing_methods,
    required_methods,
)


def small(dtype=np.float64, ridge=0.2):
    rng = np.random.default_rng(0)
    return LeastSquares(
        rng.normal(size=(25, 4)).astype(dtype), rng.normal(size=25).astype(dtype), ridge
    )


def test_solvers_are_solvers():
    for solver in (SGD(), GradientDescent(), LBFGS()):
        assert isinstance(solver, Solver)
        # settings, nothing else
        assert hash(solver) == hash(type(solver)()) and solver == type(solver)()
        with pytest.raises(AttributeError):
            solver.requires = Problem


class CurvedAndBounded(SecondOrder, Majorizable, Protocol):
    pass


class Needy:
    requires = CurvedAndBounded


def test_error_names_what_is_missing_and_who_fits():
    with pytest.raises(TypeError) as error:
        check_compatible(small(), Needy())
    text = str(error.value)
    assert text.startswith('Needy needs `quadratic_bound`, which LeastSquares does not have; ')
    assert 'SGD' in text and 'LBFGS' in text and text.endswith(' fit it') and '\n' not in text


def test_a_method_that_is_none_is_missing():
    class Without(LeastSquares):
        grad_at = None

    problem = Without(small().features, small().targets)
    assert missing_methods(problem, SGD) == ('grad_at',)
    with pytest.raises(TypeError, match='`grad_at`, which Without does not .*LBFGS'):
        minimize(problem, SGD(), max_iter=1)


def test_nobody_fits():
    class Nothing:
        pass

    with pytest.raises(TypeError) as error:
        check_compatible(Nothing(), SGD())
    assert str(error.value) == 'SGD needs `draw` and `grad_at`, which Nothing does not have'


def test_a_solver_of_one_class_says_so():
    class ForSquares:
        requires = LeastSquares

    assert missing_methods(small(), ForSquares) == ()
    assert (
        required_methods(ForSquares) == missing_methods(object(), ForSquares) == ('LeastSquares',)
    )
    with pytest.raises(TypeError, match='ForSquares solves a LeastSquares, not a object'):
        check_compatible(object(), ForSquares())


def test_required_methods_are_those_of_the_protocols():
    assert required_methods(Needy) == ('ggn_vp', 'grad', 'loss', 'quadratic_bound')
    assert required_methods(SGD) == ('draw', 'grad_at')
    for kind in (SGD, GradientDescent, LBFGS):
        assert callable(kind.step) and callable(kind.init)
        assert isinstance(small(), kind.requires)


def test_targets_must_match():
    with pytest.raises(ValueError, match=r'targets has shape \(3,\), but features has 25 rows'):
        LeastSquares(small().features, np.ones(3))


def test_problems_are_made_once():
    from extreme_opt.bound import LinearChain, LogLinear
    from extreme_opt.data import Multiclass
    from extreme_opt.ordinal import Comparisons
    from extreme_opt.similarity import MLP, AllPairs
    from extreme_opt.softmax import DoubleSum

    rows, labels = np.eye(3), np.array([0, 1, 1])
    pairs = np.array([[0, 1], [1, 0]])
    for problem in (
        DoubleSum(rows, labels),
        LogLinear(rows, labels),
        LinearChain(rows, labels, [0, 3]),
        Comparisons([[0, 1, 2]]),
        AllPairs(pairs, n_components=2),
        Multiclass(rows, labels),
        MLP(3),
    ):
        for name in ('ridge', 'labels', 'anything'):
            with pytest.raises(FrozenInstanceError, match=f'cannot assign to {name!r}'):
                setattr(problem, name, 1)
        assert pickle.loads(pickle.dumps(problem)).__class__ is type(problem)
    assert MLP(3) == MLP(3) and hash(MLP(3)) == hash(MLP(3)) != hash(MLP(4))


def _classes_with_settings():
    import importlib
    import pkgutil

    import extreme_opt
    from extreme_opt.core.validation import Checked

    for module in pkgutil.walk_packages(extreme_opt.__path__, 'extreme_opt.'):
        if not module.name.endswith('__main__'):
            importlib.import_module(module.name)
    found, left = [], [Checked]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        found += [kind] if kind._settings else []
    return sorted(found, key=lambda kind: kind.__name__)


def halves(setting):
    "What is no whole number, where one is needed."
    return [1.5][: 'a whole number' in setting.need]


def test_a_table_of_settings_names_fields_and_refuses_in_one_line():
    kinds = _classes_with_settings()
    assert {'LBFGS', 'SVRG', 'UMax', 'SOGram', 'TSTE', 'Limits'} <= {one.__name__ for one in kinds}
    for kind in kinds:
        assert set(kind._settings) <= {one.name for one in fields(kind)}, kind
        for name, setting in kind._settings.items():
            for wrong in ('no such word', [1.0], -1e9, np.nan, object, *halves(setting)):
                refuses(f'^{name}=', setting.check, name, wrong)


NAN = float('nan')
OUTSIDE = {  # solver -> values at the ends of a range that are out of it
    core.SGD: dict(learning_rate=[-1.0], learning_rate_decay=[0, 1.5], batch_size=[0]),
    core.GradientDescent: dict(scaling=['adam'], step_size=[0]),
    core.LBFGS: dict(history_size=[0]),
    Majorizer: dict(relaxation=[0.0, 2.0], order=['given']),
    bound.QuasiMajorizer: dict(history_size=[0], decrease=[1.0]),
    bound.StochasticMajorizer: dict(
        learning_rate=[0.0], learning_rate_decay=[-1.0], batch_size=[0]
    ),
    bound.IncrementalMajorizer: dict(batch_size=[0], order=['up'], relaxation=[2.0]),
    softmax.ImplicitSGD: dict(
        learning_rate=[0.0, NAN], learning_rate_decay=[1.5], n_negatives=[0], n_jobs=[0, -1]
    ),
    softmax.UMax: dict(threshold=[0.0, -1], learning_rate=[-1.0, NAN], n_jobs=[0, -1])
    | dict(learning_rate_decay=[0.0, 1.1], visits=['sorted']),
    softmax.Rotation: dict(
        method=['other'],
        learning_rate=[0.0],
        learning_rate_decay=[2.0],
        n_negatives=[0],
        n_blocks=[0],
    ),
    similarity.BlockSGD: dict(
        share=[0], learning_rate=[-1.0], scaling=['adam'], n_updates=[0], stabilizer=[-1.0]
    ),
    similarity.PairSGD: dict(sampler=['some']),
    similarity.SOGram: dict(alpha=[2.0], sampler=['swapped']),
    ordinal.ProjectedGradient: dict(step_size=[0, NAN], shrink=[1.0], grow=[0.5]),
}


@pytest.mark.parametrize('kind', OUTSIDE)
def test_settings_outside_of_their_range_are_one_line(kind):
    for name, values in OUTSIDE[kind].items():
        for value in values:
            refuses(f'^{name}={value}|^{name}={value!r}', kind, **{name: value})


ROWS, IDS, PAIRS = np.eye(4), np.arange(4), np.array([[0, 1], [1, 0], [2, 1]])
COUNTS = [  # what a count of a problem is made of, and what is not whole
    lambda half: ordinal.Comparisons([[0, 1, 2], [3, 4, 11]], 2, n_objects=11 + half),
    lambda half: ordinal.Comparisons([[0, 1, 2], [3, 4, 11]], 1 + half),
    lambda half: similarity.AllPairs(PAIRS, n_components=2, n_left=2 + half),
    lambda half: similarity.AllPairs(PAIRS, n_components=1 + half),
    lambda half: softmax.DoubleSum(ROWS, IDS, 4 + half),
    lambda half: softmax.DoubleSum(ROWS, IDS, 4, n_unpenalized=half),
    lambda half: bound.LogLinear(ROWS, IDS, 4 + half),
]


@pytest.mark.parametrize('make', COUNTS)
def test_counts_of_problems_are_whole(make):
    refuses('.', make, np.float64(0.5), raises=(ValueError, TypeError))


def test_a_class_says_what_is_its_own_and_takes_the_rest():
    "Sections that a class lacks are taken, and never those of other arguments."

    class Told:
        def draw(self, rng, size):
            """A batch.

            Parameters
            ----------
            rng : Generator
            size : int

            Returns
            -------
            ndarray
            """

    class Own:
        def draw(self, rng, size):
            """Rows.

            Returns
            -------
            Draw
            """

    class Silent:
        def draw(self, rng, size):
            return size

    for kind in (Own, Silent):
        inherit_sections(kind, Told)

    class Below(Told):
        def draw(self, rng, size):
            "Columns."

    inherit_sections(Below)
    assert inspect.getdoc(Below.draw) == inspect.getdoc(Told.draw).replace('A batch.', 'Columns.')
    own, silent = (inspect.getdoc(kind.draw) for kind in (Own, Silent))
    told = inspect.getdoc(Told.draw)
    assert own == told.replace('A batch.', 'Rows.').replace('ndarray', 'Draw')
    assert silent == told


@pytest.mark.parametrize('first', [False, True])
def test_a_base_class_describes_what_its_subclasses_share(first):
    class Base:
        """Base.

        Parameters
        ----------
        size : int
            Rows.
        seed : int
            Of all.
        """

    class Kind(Base):
        """A kind.

        Parameters
        ----------
        power : float
            > 0.
        seed : int
            Of the start.

        Notes
        -----
        A note.
        """

    extend_sections(Kind, Base, first=first)
    size, rest = 'size : int\n    Rows.', 'power : float\n    > 0.'
    seed = 'seed : int\n    Of the start.'
    entries = '\n'.join([size, seed, rest] if first else [rest, seed, size])
    expected = f'A kind.\n\nParameters\n----------\n{entries}\n\nNotes\n-----\nA note.'
    assert inspect.getdoc(Kind) == expected
