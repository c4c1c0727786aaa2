"Fast sums over all pairs against the slow ones, towers against differences, Gauss-Newton against matrices."
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from extreme_opt.core.checks import check_gradient
from extreme_opt.similarity import MLP, AllPairs, Linear, dense_loss, unseen_value_qr
from extreme_opt.similarity.gramian import left_gramian, right_gramian, unseen_value


def made(m=6, n=5, share=.3, seed=0, **options):
    "A small problem with every option in use."
    rng = np.random.default_rng(seed)
    places = np.argwhere(rng.random((m, n)) < share)
    usual = dict(n_components=3, left=MLP(4), right=MLP(5, 3), labels=rng.choice([-1., 1.], len(places)), pair_weights=rng.random(len(places)),
                 row_weights=rng.random(m), column_weights=rng.random(n), impute=(rng.normal(size=(m, 2)), rng.normal(size=(n, 2))),
                 unobserved_weight=.4, ridge=.1, n_left=m, n_right=n)
    return AllPairs(places, **(usual | options))


def slow_loss(problem, params):
    "The loss as it is written, over all pairs."
    return dense_loss(problem.terms, problem.embed(0, params), problem.embed(1, params)) + problem.ridge / 2 * params @ params


@settings(max_examples=40, deadline=None)
@given(m=st.integers(1, 7), n=st.integers(1, 7), share=st.sampled_from([0., .1, .5, 2.]), seed=st.integers(0, 99), kind=st.sampled_from(['logistic', 'squared']),
       penalty=st.sampled_from(['unobserved', 'all']), rank=st.integers(0, 4), weight=st.sampled_from([0., .3, 2., 'auto']), biases=st.booleans(),
       tower=st.sampled_from([MLP(4), MLP(3, 2, bias=False), Linear(), Linear(bias=True)]))
def test_fast_is_naive(m, n, share, seed, kind, penalty, rank, weight, biases, tower):
    "Every option, with empty rows and columns, nothing observed, everything observed, one entity a side."
    rng = np.random.default_rng(seed)
    problem = made(m, n, share, seed, kind=kind, penalty=penalty, unobserved_weight=weight, biases=biases, left=tower,
                   impute=(rng.normal(size=(m, rank)), rng.normal(size=(n, rank))))
    params = problem.start(seed) + .05
    np.testing.assert_allclose(problem.loss(params), slow_loss(problem, params), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize('options', [dict(), dict(kind='squared', penalty='all'), dict(left=MLP(4, cosine=2.)), dict(biases=True),
                                     dict(left_features=np.arange(6)[::-1] // 2), dict(right_features=sparse.random_array((5, 9), density=.4, rng=1))])
def test_gradient(options):
    problem = made(**options)
    check_gradient(problem, problem.start(1) + .05)


def test_single_precision_keeps_the_value():
    "Where the plain formula in float32 is off by hundreds of per cent, float64 Gramians of the same rows are not."
    rng = np.random.default_rng(1)
    m, n, k = 900, 700, 8
    P, Q = (np.concatenate([np.full((size, 1), sign), np.zeros((size, k - 1))], 1).astype(np.float32) + (3e-5 * rng.normal(size=(size, k))).astype(np.float32)
            for size, sign in ((m, -1.), (n, 1.)))
    terms = AllPairs([[0, 0]], n_left=m, n_right=n, dtype=np.float32, n_components=k, left=Linear(), right=Linear()).terms
    exact = .5 * ((P.astype(float) @ Q.T.astype(float) + 1)**2).sum()
    plain = .5 * m * n + (P.sum(0, dtype=np.float32) * Q.sum(0, dtype=np.float32)).sum() + .5 * ((P.T @ P) * (Q.T @ Q)).sum()
    assert abs(plain / exact - 1) > .5
    assert abs(unseen_value(left_gramian(terms, P), right_gramian(terms, Q)) / exact - 1) < 1e-5
    assert abs(unseen_value_qr(terms, P, Q) / exact - 1) < 1e-6
