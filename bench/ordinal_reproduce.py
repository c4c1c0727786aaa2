"""The tables and figures of the ordinal chapter's paper at their full size: long runs whose numbers
the page nbs/evidence/ordinal/90_reproduce reads.

    python bench/run.py ordinal_reproduce

Some minutes on one core; the environment variable PARTS names a folder that keeps finished parts
(see ordinal_race). Music and MNIST are looked up by `data.load`; a set that cannot be had is left
out and named. Seconds are those of the solver alone, medians over starts; the other columns hold
what was reached. Peer is the loss, or the number that a row is about.
"""

from __future__ import annotations

from collections.abc import Iterator

import machine
import numpy as np

from extreme_opt import data
from extreme_opt.core import SGD, GradientDescent, minimize
from extreme_opt.core.descent import LBFGS
from extreme_opt.core.step_sizes import SBB, FixedStep
from extreme_opt.core.svrg import SVRG
from extreme_opt.ordinal import (
    CKL,
    SOE,
    STE,
    TSTE,
    Comparisons,
    GramComparisons,
    Hinge,
    ProjectedGradient,
    flip_labels,
    triplet_error,
)
from extreme_opt.ordinal.gram import coordinates

TARGET, N_STARTS, MOST = 0.15, 7, 150  # test error, starts, passes
RATES = 5e-4, 2e-3, 8e-3, 0.03, 0.12


def row(method, task, peer, seconds='', **measured):
    return machine.row(method=method, task=task, peer=peer, seconds=seconds, **measured)


# ----------------------------------------------------------------------------- Table I and Figure 2
def synthetic(n_objects=100, n_components=10, n_terms=10_000, seed=0):
    """Section 5.1: a Gaussian map with squared distances 1 on average, and noiseless answers, drawn
    at random."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_objects, n_components)) / 20**0.5
    rows = np.argsort(rng.random((2 * n_terms, n_objects)), axis=1)[:, :3]
    near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2).sum(1) for k in (1, 2))
    rows = np.where((near < far)[:, None], rows, rows[:, [0, 2, 1]])
    return rows[:n_terms], rows[n_terms:]


def uniform_start(problem, seed):
    return np.random.default_rng(seed).random(problem.n_objects * problem.n_components)


def followed(problem, solver, test, seed, most=MOST):
    "Passes, seconds and test error at the start and after each step."
    look = dict(test=lambda problem, params: triplet_error(problem.unpack(params), test))
    begin = uniform_start(problem, seed)
    run = minimize(problem, solver, begin, max_epochs=most, seed=seed, metrics=look, loss_subset=0)
    return [
        np.append(first, run.column(name))
        for first, name in (
            (0.0, 'epoch'),
            (0.0, 'seconds'),
            (look['test'](problem, begin), 'test'),
        )
    ]


def reached(course, target=TARGET):
    "Passes and seconds to the target, or infinity."
    passes, seconds, test = course
    met = np.flatnonzero(test <= target)
    return (passes[met[0]], seconds[met[0]]) if len(met) else (np.inf, np.inf)


def tuned(problem, test, kind):
    "The solver of a kind whose rate gets to the lowest error in the middle of the budget."
    ends = {
        rate: np.median(
            [followed(problem, kind(rate), test, seed, MOST / 2)[2][-1] for seed in (100, 101)]
        )
        for rate in RATES
    }
    return kind(min(ends, key=ends.get)), min(ends, key=ends.get)


def table_one():
    train, test = synthetic()
    for name, loss in (('GNMDS', Hinge()), ('CKL', CKL(0.1)), ('STE', STE()), ('TSTE', TSTE(9.0))):
        problem = Comparisons(train, 10, loss, 100)
        sgd, sgd_rate = tuned(problem, test, lambda rate: SGD(rate, learning_rate_decay=0.99))
        svrg, svrg_rate = tuned(problem, test, lambda rate: SVRG(FixedStep(rate)))
        solvers = {
            'batch': GradientDescent(step_size=10.0),
            'L-BFGS': LBFGS(),
            f'SGD, tuned ({sgd_rate:g})': sgd,
            f'SVRG, tuned ({svrg_rate:g})': svrg,
            'SVRG, rate 0.0005 of the code': SVRG(FixedStep(5e-4)),
            'SBB_0': SVRG(SBB(0.0, 5e-4)),
        }
        solvers |= {
            f'SBB_0.025, B={size}': SVRG(SBB(0.025, 5e-4), size)
            for size in (1, 5, 10, 20, 50, 100, 200)
        }
        solvers |= {f'SBB auto, B={size}': SVRG(SBB(), size) for size in (1, 20)}
        for method, solver in solvers.items():
            courses = [followed(problem, solver, test, seed) for seed in range(N_STARTS)]
            passes, seconds = np.array([reached(course) for course in courses]).T
            worst = max(course[2][-1] for course in courses)
            best = np.median([course[2].min() for course in courses])
            yield row(
                method,
                'table1',
                name,
                f'{np.median(seconds):.4f}',
                passes=f'{np.median(passes):.0f}',
                n_there=int(np.isfinite(passes).sum()),
                n_runs=N_STARTS,
                least_error=f'{best:.3f}',
                worst_end=f'{worst:.3f}',
            )
            yield from curve(method, name, courses)
        yield convex(name, loss, train, test)


def curve(method, name, courses):
    "Quartiles of the test error at fixed numbers of passes: Figure 2."
    for mark in (0, 3, 6, 9, 15, 24, 36, 48, 60, 90, 120, 150):
        now = [
            test[max(0, np.searchsorted(passes, mark, side='right') - 1)]
            for passes, _, test in courses
        ]
        yield row(
            method,
            f'figure2 pass {mark}',
            name,
            **{
                name: f'{value:.3f}'
                for name, value in zip(
                    ('low', 'middle', 'high'), np.quantile(now, (0.25, 0.5, 0.75)), strict=True
                )
            },
        )


def convex(name, loss, train, test):
    "The Gram formulation, all columns, then its best ten."
    problem = GramComparisons(train, loss, 100, trace=0.02)
    look = dict(test=lambda problem, params: triplet_error(problem.embedding(params, 10), test))
    run = minimize(problem, ProjectedGradient(), max_epochs=MOST, metrics=look, loss_subset=0)
    passes, seconds = reached((run.column('epoch'), run.column('seconds'), run.column('test')))
    return row(
        'convex, sound',
        'table1',
        name,
        f'{seconds:.4f}',
        passes=f'{passes:.0f}',
        n_there=int(np.isfinite(passes)),
        n_runs=1,
        least_error=f'{run.column("test").min():.3f}',
        worst_end=f'{run.column("test")[-1]:.3f}',
    )


# ------------------------------------------------------------------------------------ the real sets
def loaded(name, **options):
    try:
        return data.load(name, **options)
    except (OSError, ImportError, ValueError) as error:
        print(f'{name} is left out: {error}')
        return None


def fit(
    rows,
    n_components,
    loss,
    n_objects,
    max_epochs,
    seed=0,
    weights=None,
    metrics=None,
    rule=None,
    start=None,
):
    problem = Comparisons(rows, n_components, loss, n_objects, weights=weights)
    return minimize(
        problem,
        SVRG(rule or SBB()),
        start,
        max_epochs=max_epochs,
        seed=seed,
        metrics=metrics,
        loss_subset=0,
    )


def eurodist():
    distances, _ = data.eurodist()
    rows, scale = data.triplets_from_distances(distances), np.eye(21) - 1 / 21
    classical = coordinates(-0.5 * scale @ distances**2 @ scale, 2)
    yield row(
        'classical scaling',
        'eurodist',
        'all triplets',
        error=f'{triplet_error(classical, rows):.3f}',
    )
    for name, loss in (
        ('GNMDS', Hinge()),
        ('STE', STE()),
        ('TSTE(1)', TSTE(1.0)),
        ('CKL(0.1)', CKL(0.1)),
        ('SOE', SOE()),
    ):
        found = []
        for split in range(20):
            order = np.random.default_rng(split).permutation(len(rows))
            runs = [fit(rows[order[:2000]], 2, loss, 21, 400, (split, start)) for start in range(3)]
            points = min(
                (run.state.params for run in runs),
                key=Comparisons(rows[order[:2000]], 2, loss, 21).loss,
            ).reshape(21, 2)
            found.append((triplet_error(points, rows[order[2000:]]), disparity(points, classical)))
        error, apart = np.median(found, axis=0)
        yield row('SBB auto', 'eurodist', name, test_error=f'{error:.3f}', disparity=f'{apart:.3f}')


def disparity(points, other):
    "Procrustes: what is left after the best shift, turn, reflection and scale."
    a, b = (each - each.mean(0) for each in (points, other))
    return 1 - np.linalg.svd(a.T @ b, compute_uv=False).sum() ** 2 / (a**2).sum() / (b**2).sum()


def music():
    if (kept := loaded('music-artists', test_size=0.0)) is None:
        return
    rows, n = kept.triplets, kept.n_objects
    for name, loss in (
        ('GNMDS', Hinge()),
        ('CKL', CKL(0.1)),
        ('STE', STE()),
        ('TSTE', TSTE(8.0)),
        ('TSTE(1)', TSTE(1.0)),
    ):
        kinds = {
            'batch': GradientDescent(step_size=10.0),
            'SGD, rate 0.03': SGD(0.03, learning_rate_decay=0.99),
            'SVRG, rate 0.002': SVRG(FixedStep(2e-3)),
            'SBB_0': SVRG(SBB(0.0, 5e-4)),
            'SBB_0.02, B=1': SVRG(SBB(0.02, 5e-4)),
            'SBB auto, B=1': SVRG(SBB()),
            'SBB auto, B=20': SVRG(SBB(), 20),
        }
        for method, solver in kinds.items():
            courses = []
            for split in range(5):
                order = np.random.default_rng(split).permutation(len(rows))
                cut = len(rows) // 5
                courses.append(
                    followed(
                        Comparisons(rows[order[cut:]], 9, loss, n),
                        solver,
                        rows[order[:cut]],
                        split,
                        450 if 'auto' in method else 150,
                    )
                )
            ends, bests = (
                np.median([pick(course[2]) for course in courses])
                for pick in (lambda test: test[-1], min)
            )
            yield row(
                method,
                'music',
                name,
                f'{np.median([course[1][-1] for course in courses]):.3f}',
                final_error=f'{ends:.3f}',
                best_error=f'{bests:.3f}',
            )
            yield from (
                each | dict(task=each['task'].replace('figure2', 'figure4'))
                for each in curve(method, name, courses)
            )


# ---------------------------------------------------------------------------- Table II and Figure 5
def pictures(n_train=60, n_test=40, seed=0):
    """Some pictures of each digit: features and labels of the gallery and of the queries; the name
    of the set."""
    found, name = loaded('mnist', part='train', dense=True), 'MNIST'
    if found is None:
        found, name, n_test = data.digits(), 'digits', 40
    rng = np.random.default_rng(seed)
    features = np.asarray(found.features, float)
    labels = found.labels
    picks = np.array(
        [
            rng.permutation(np.flatnonzero(labels == digit))[: n_train + n_test]
            for digit in range(10)
        ]
    )
    gallery, queries = picks[:, :n_train].ravel(), picks[:, n_train:].ravel()
    return features[gallery], labels[gallery], features[queries], labels[queries], name


def class_triplets(labels, n_terms=70_000, seed=0):
    "Anchor and near object of one class, far object of another."
    rng = np.random.default_rng(seed)
    anchor, near = rng.integers(len(labels), size=(2, 4 * n_terms))
    far = rng.integers(len(labels), size=4 * n_terms)
    sound = (anchor != near) & (labels[anchor] == labels[near]) & (labels[anchor] != labels[far])
    rows = np.column_stack([anchor, near, far])[sound]
    while len(rows) < n_terms:
        rows = np.concatenate([rows, class_triplets(labels, n_terms - len(rows), seed + 1)])
    return rows[:n_terms]


def ranking(found, labels, asked, query_labels):
    "Relevance in the order of distance: (n_queries, n_gallery) bool."
    apart = ((asked[:, None] - found) ** 2).sum(-1)
    return labels[np.argsort(apart, axis=1, kind='stable')] == query_labels[:, None]


def scores(relevant, cut):
    """Mean precision, recall and average precision at a cut-off, over min(cut, relevant) as it must
    be."""
    hits, n_relevant = relevant[:, :cut], relevant.sum(1)
    precision_at = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return (
        hits.mean(),
        (hits.sum(1) / n_relevant).mean(),
        ((precision_at * hits).sum(1) / np.minimum(cut, n_relevant)).mean(),
    )


def kernel_map(features, points, asked, ridge=0.1):
    "Out of sample: kernel ridge regression on the features, width from the mean squared distance."

    def apart(a, b):
        return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T, 0)

    width = apart(features, features).mean()
    return np.exp(-apart(asked, features) / (2 * width)) @ np.linalg.solve(
        np.exp(-apart(features, features) / (2 * width)) + ridge * np.eye(len(features)), points
    )


def retrieval():
    features, labels, asked, query_labels, name = pictures()
    raw = scores(ranking(features, labels, asked, query_labels), 60)
    chance = scores(np.random.default_rng(0).permuted(np.tile(labels == 0, (4000, 1)), axis=1), 60)

    def say(found):
        names = ('precision', 'recall', 'average_precision')
        return {name: f'{value:.3f}' for name, value in zip(names, found, strict=True)}

    yield row('pixels', 'table2', name, **say(raw))
    yield row('chance', 'table2', name, **say(chance))
    for noise in (0.05, 0.1, 0.15):
        rows = flip_labels(class_triplets(labels), noise, seed=1)
        for kind, loss in (
            ('GNMDS', Hinge()),
            ('CKL', CKL(0.1)),
            ('STE', STE()),
            ('TSTE', TSTE(9.0)),
        ):
            problem = Comparisons(rows, 10, loss, len(labels))
            for method, solver in {
                'batch': GradientDescent(step_size=10.0),
                'SGD, rate 0.03': SGD(0.03, learning_rate_decay=0.95),
                'SVRG, rate 0.0005': SVRG(FixedStep(5e-4)),
                'SBB_0': SVRG(SBB(0.0, 5e-4)),
                'SBB auto, B=1': SVRG(SBB()),
                'SBB auto, B=20': SVRG(SBB(), 20),
            }.items():
                run = minimize(problem, solver, max_epochs=30, loss_subset=0)
                points = np.nan_to_num(
                    problem.unpack(run.state.params), nan=0.0, posinf=0.0, neginf=0.0
                )
                order = ranking(points, labels, kernel_map(features, points, asked), query_labels)
                yield row(
                    method,
                    f'table2 noise {noise:g}',
                    kind,
                    f'{run.column("seconds")[-1]:.2f}',
                    **say(scores(order, 60)),
                )
                if noise == 0.1:
                    for cut in (40, 60, 80, 100):
                        yield row(method, f'figure5 K={cut}', kind, **say(scores(order, cut)))


def main() -> Iterator[dict]:
    for part in (eurodist, music, retrieval, table_one):
        yield from machine.kept(f'reproduce {part.__name__}', lambda part=part: list(part()))
