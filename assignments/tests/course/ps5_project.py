"""Answers to problem set 5, right and wrong, for each coding question.

ANSWERS: (name, points over all tests of the question, source), one of those that fail alike.
"""

CLAIM = "claim = dict(chapter='{}', id='{}', prediction='{}')\n"
SENTENCE = 'printed is worse by more than a half in most of the runs'

STEPS = '''
def new_data(rng): return {data}
def printed(data, rng):
    {before}
    curvature, epsilon = data
    step = 1 / (curvature + epsilon)
    return {printed}
def mended(data, rng):
    curvature, epsilon = data
    step = 1 / (curvature + epsilon)
    return {mended}
'''


def steps(
    chapter='ordinal',
    name='O19',
    prediction=SENTENCE,
    data='(rng.uniform(1, 9, 30), rng.uniform(0, 1, 30))',
    before='pass',
    printed='float(np.mean(step < 1 / curvature))',
    mended='float(np.mean(step < 1 / (curvature + epsilon) - 1e-12))',
):
    return CLAIM.format(chapter, name, prediction) + STEPS.format(
        data=data, before=before, printed=printed, mended=mended
    )


SAMPLED = (
    CLAIM.format('similarity', 'S3', SENTENCE)
    + '''
def new_data(rng): return rng.normal(size=(8, 2)), rng.normal(size=(6, 2))
def _draws(data, rng, factor):
    P, Q = data
    exact = np.sum((P @ Q.T)**2)
    some = [np.sum((P[rng.choice(8, 4, replace=False)] @ Q[rng.choice(6, 3, replace=False)].T)**2) for _ in range(400)]
    return float(abs(factor * np.mean(some) / exact - 1))
def printed(data, rng): return _draws(data, rng, 1.)
def mended(data, rng): return _draws(data, rng, 4.)
'''
)
SCORES = (
    CLAIM.format('softmax', 'S30', SENTENCE)
    + '''
def new_data(rng):
    a = rng.normal(size=(40, 7))
    return a, rng.integers(7, size=40)
def printed(data, rng):
    a, y = data
    p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    q = np.exp(p) / np.exp(p).sum(1, keepdims=True)
    return abs(float(np.mean(np.log(p[range(40), y]) - np.log(q[range(40), y]))))
def mended(data, rng): return 0.
'''
)

INTERVAL = '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.array(values, float)
    n = len(v)
    means = {means}
    return {answer}
'''
QUANTILES = 'tuple(float(q) for q in np.quantile(means, [(1 - level) / 2, 1 - (1 - level) / 2]))'


def interval(means='rng.choice(v, size=(n_draws, n)).mean(axis=1)', answer=QUANTILES):
    return INTERVAL.format(means=means, answer=answer)


VERDICT = '''
def verdict(printed_values, mended_values, rng):
    p, m = np.array(printed_values, float), np.array(mended_values, float)
    {body}
'''


def verdict(body):
    return VERDICT.format(body=body)


REAL = '''
results = dict(printed=[], mended=[])
for seed in {seeds}:
    data = new_data(np.random.default_rng({seed}))
    results['printed'].append(printed(data, np.random.default_rng(seed)))
    results['mended'].append(mended(data, np.random.default_rng(seed)))
results['verdict'] = {verdict}
{after}
'''


def real(
    seeds='range(20)',
    seed='seed',
    after='',
    verdict="verdict(results['printed'], results['mended'], np.random.default_rng(0))",
):
    return REAL.format(seeds=seeds, seed=seed, after=after, verdict=verdict)


ANSWERS = {
    'scaffold': [
        ('a step that is too short', 6, steps()),
        ('blocks without their factor', 6, SAMPLED),
        ('a softmax of a softmax', 6, SCORES),
        ('no such erratum', 0, steps(name='O40')),
        ('no prediction', 0, steps(prediction='worse')),
        ('data always the same', 0, steps(data='(np.linspace(1, 9, 30), np.linspace(0, 1, 30))')),
        ('data not from rng', 0, steps(data='(np.random.uniform(1, 9, 30), np.random.uniform(0, 1, 30))')),
        ('not an array', 0, steps(data='[list(rng.uniform(1, 9, 30)), list(rng.uniform(0, 1, 30))]')),
        ('both forms the same', 0, steps(mended='float(np.mean(step < 1 / curvature))')),
        ('data changed', 0, steps(before='data[0][:] += 1')),
        ('an array for a number', 0, steps(printed='step - 1 / curvature')),
        ('noise not from rng', 0, steps(printed='float(np.mean(step < 1 / curvature) + np.random.uniform())')),
    ],
    'interval': [
        ('choice', 6, interval()),
        ('integers', 6, interval(means='v[rng.integers(0, n, (n_draws, n))].mean(1)')),
        (
            'a loop',
            6,
            interval(
                means='[np.mean(rng.choice(v, n, replace=True)) for _ in range(n_draws)]',
                answer='tuple(np.percentile(means, [50 * (1 - level), 50 * (1 + level)]).tolist())',
            ),
        ),
        ('without replacement', 0, interval(means='np.array([rng.choice(v, n, replace=False).mean() for _ in range(n_draws)])')),
        ('quantiles of the values', 0, interval(means='v')),
        ('half of the tails forgotten', 0, interval(answer='tuple(float(q) for q in np.quantile(means, [1 - level, level]))')),
        ('level not used', 0, interval(answer='tuple(float(q) for q in np.quantile(means, [.025, .975]))')),
        ('not from rng', 0, interval(means='np.random.choice(v, size=(n_draws, n)).mean(axis=1)')),
        ('values changed', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    values.sort(); means = values[rng.integers(len(values), size=(n_draws, len(values)))].mean(1)
    return tuple(map(float, np.quantile(means, [(1 - level) / 2, (1 + level) / 2])))
'''),
    ],
    'verdict': [
        ('differences', 5, verdict("low, high = interval_of(p - m, rng)\n    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'")),
        (
            'differences the other way',
            5,
            verdict(
                "low, high = interval_of(m - p, rng)\n    return 'printed' if low > 0 else 'mended' if high < 0 else 'undecided'"
            ),
        ),
        (
            'a sign',
            5,
            verdict(
                "ends = np.sign(interval_of([a - b for a, b in zip(p, m)], rng))\n"
                "    return {2: 'mended', -2: 'printed'}.get(int(ends.sum()), 'undecided')"
            ),
        ),
        (
            'two intervals',
            0,
            verdict(
                "(a, b), (c, d) = interval_of(p, rng), interval_of(m, rng)\n    return 'mended' if a > d else 'printed' if b < c else 'undecided'"
            ),
        ),
        ('means alone', 0, verdict("return 'mended' if p.mean() > m.mean() else 'printed' if p.mean() < m.mean() else 'undecided'")),
        ('never printed', 0, verdict("return 'mended' if interval_of(p - m, rng)[0] > 0 else 'undecided'")),
        (
            'ninety percent',
            0,
            verdict(
                "low, high = interval_of(p - m, rng, level=.9)\n    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'"
            ),
        ),
        (
            'zero counts as above',
            0,
            verdict(
                "low, high = interval_of(p - m, rng)\n    return 'mended' if low >= 0 else 'printed' if high <= 0 else 'undecided'"
            ),
        ),
    ],
    'answer': [
        ('read off', 3, 'answer_runs = 64'),
        (
            'from the right',
            3,
            'rng = np.random.default_rng(2024 + 1000 * VARIANT); m, s = rng.uniform(.12, .25), rng.uniform(.6, 1.2); d = m + s * rng.normal(size=1024)\n'
            'answer_runs = 1024\nfor n in offered[::-1]:\n    if interval_of(d[:n], None)[0] <= 0: break\n    answer_runs = n',
        ),
        ('as a float', 3, 'answer_runs = float(64)'),
        ('one place too few', 0, 'answer_runs = offered[offered.index(64) - 1]'),
        ('one place too many', 0, 'answer_runs = offered[offered.index(64) + 1]'),
        ('not offered', 0, 'answer_runs = 100'),
    ],
    'real': [
        ('one loop', 4, real()),
        (
            'two lists',
            4,
            "seeds = range(20)\nresults = {m.__name__: [m(new_data(np.random.default_rng(s)), np.random.default_rng(s)) for s in seeds] for m in (printed, mended)}\n"
            "results['verdict'] = verdict(results['printed'], results['mended'], np.random.default_rng(1))",
        ),
        ('arrays', 4, real(after="results['printed'], results['mended'] = np.array(results['printed']), np.array(results['mended'])")),
        ('other seeds', 0, real(seeds='range(1, 21)')),
        ('nineteen', 0, real(seeds='range(19)')),
        ('one data set twenty times', 0, real(seed='0')),
        ('a verdict by wish', 0, real(verdict="'printed'")),
        ('a verdict the wrong way round', 0, real(verdict="verdict(results['mended'], results['printed'], np.random.default_rng(0))")),
        ('no verdict', 0, real(after="del results['verdict']")),
    ],
}  # fmt: skip


GROUPS = """
_by_values = interval
def interval(values, rng, level=.95, n_draws=2000, groups=None):
    if groups is None: return _by_values(values, rng, level, n_draws)
    values, groups = np.asarray(values, float), np.asarray(groups)
    parts = [values[groups == name] for name in np.unique(groups)]; n = len(parts)
    means = {means}
    return tuple(float(end) for end in np.quantile(means, [(1 - {level}) / 2, (1 + {level}) / 2]))
"""
WHOLE = (
    '[np.concatenate([parts[k] for k in rng.integers(n, size=n)]).mean() for _ in range(n_draws)]'
)


def grouped(means=WHOLE, level='level'):
    "A right interval of single values, and one of groups."
    return interval() + GROUPS.format(means=means, level=level)


ANSWERS['interval'] = [  # what is wrong without groups stays wrong
    (name, points, code + GROUPS.format(means=WHOLE, level='level'))
    for name, points, code in ANSWERS['interval']
]
ANSWERS['interval'] += [
    ('groups forgotten', 0, interval().replace('n_draws=2000)', 'n_draws=2000, groups=None)')),
    ('the mean of the means of groups', 0, grouped('[np.mean([parts[k].mean() for k in rng.integers(n, size=n)]) for _ in range(n_draws)]')),
]  # fmt: skip
