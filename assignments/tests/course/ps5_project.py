"""Answers to problem set 5, right and wrong, for each coding question.

ANSWERS: (name, earns the marks of the first test, source). MORE: (name, points over all tests of the question, source),
written from the student's version alone, and the answers that earn a part.
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
    v = {given}
    n = len(v)
    means = {means}
    return {answer}
'''
QUANTILES = 'tuple(float(q) for q in np.quantile(means, [(1 - level) / 2, 1 - (1 - level) / 2]))'


def interval(
    given='np.array(values, float)',
    means='rng.choice(v, size=(n_draws, n)).mean(axis=1)',
    answer=QUANTILES,
):
    return INTERVAL.format(given=given, means=means, answer=answer)


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
    results['mended'].append({second})
results['verdict'] = {verdict}
{after}
'''


def real(
    seeds='range(20)',
    seed='seed',
    second='mended(data, np.random.default_rng(seed))',
    after='',
    verdict="verdict(results['printed'], results['mended'], np.random.default_rng(0))",
):
    return REAL.format(seeds=seeds, seed=seed, second=second, after=after, verdict=verdict)


ANSWERS = {
    'scaffold': [
        ('a step that is too short', True, steps()),
        ('blocks without their factor', True, SAMPLED),
        ('a softmax of a softmax', True, SCORES),
        ('no such erratum', False, steps(name='O40')),
        ('the wrong chapter', False, steps(chapter='bound')),
        ('no prediction', False, steps(prediction='worse')),
        ('data always the same', False, steps(data='(np.linspace(1, 9, 30), np.linspace(0, 1, 30))')),
        ('data not from rng', False, steps(data='(np.random.uniform(1, 9, 30), np.random.uniform(0, 1, 30))')),
        ('not an array', False, steps(data='[list(rng.uniform(1, 9, 30)), list(rng.uniform(0, 1, 30))]')),
        ('both forms the same', False, steps(mended='float(np.mean(step < 1 / curvature))')),
        ('data changed', False, steps(before='data[0][:] += 1')),
        ('an array for a number', False, steps(printed='step - 1 / curvature')),
        ('negative', False, steps(printed='float(np.min(step - 1 / curvature))')),
        ('not finite', False, steps(printed='float(np.max(step) / 0. if False else np.inf)')),
        ('noise not from rng', False, steps(printed='float(np.mean(step < 1 / curvature) + np.random.uniform())')),
    ],
    'interval': [
        ('choice', True, interval()),
        ('integers', True, interval(means='v[rng.integers(0, n, (n_draws, n))].mean(1)')),
        (
            'a loop',
            True,
            interval(
                means='[np.mean(rng.choice(v, n, replace=True)) for _ in range(n_draws)]',
                answer='tuple(np.percentile(means, [50 * (1 - level), 50 * (1 + level)]).tolist())',
            ),
        ),
        (
            'counts',
            True,
            interval(means='rng.multinomial(n, np.full(n, 1 / n), size=n_draws) @ v / n')
            .replace('means = rng', 'means = v[0] + rng')
            .replace('@ v / n', '@ (v - v[0]) / n'),
        ),
        ('without replacement', False, interval(means='np.array([rng.choice(v, n, replace=False).mean() for _ in range(n_draws)])')),
        ('quantiles of the values', False, interval(means='v')),
        ('half of the tails forgotten', False, interval(answer='tuple(float(q) for q in np.quantile(means, [1 - level, level]))')),
        ('level not used', False, interval(answer='tuple(float(q) for q in np.quantile(means, [.025, .975]))')),
        ('the median', False, interval(means='np.median(rng.choice(v, size=(n_draws, n)), axis=1)')),
        ('not from rng', False, interval(means='np.random.choice(v, size=(n_draws, n)).mean(axis=1)')),
        ('high before low', False, interval(answer=QUANTILES + '[::-1]')),
        ('standard error forgotten', False, interval(answer='(v.mean() - 1.96 * v.std(), v.mean() + 1.96 * v.std())')),
        ('the normal interval', False, interval(answer='(v.mean() - 1.96 * v.std() / n**.5, v.mean() + 1.96 * v.std() / n**.5)')),
        ('samples of half the size', False, interval(means='rng.choice(v, size=(n_draws, max(1, n // 2))).mean(axis=1)')),
        ('a fixed seed', False, interval(means='np.random.default_rng().choice(v, size=(n_draws, n)).mean(axis=1)')),
    ],
    'verdict': [
        ('differences', True, verdict("low, high = interval_of(p - m, rng)\n    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'")),
        (
            'differences the other way',
            True,
            verdict(
                "low, high = interval_of(m - p, rng)\n    return 'printed' if low > 0 else 'mended' if high < 0 else 'undecided'"
            ),
        ),
        (
            'a sign',
            True,
            verdict(
                "ends = np.sign(interval_of([a - b for a, b in zip(p, m)], rng))\n"
                "    return {2: 'mended', -2: 'printed'}.get(int(ends.sum()), 'undecided')"
            ),
        ),
        (
            'two intervals',
            False,
            verdict(
                "(a, b), (c, d) = interval_of(p, rng), interval_of(m, rng)\n    return 'mended' if a > d else 'printed' if b < c else 'undecided'"
            ),
        ),
        ('means alone', False, verdict("return 'mended' if p.mean() > m.mean() else 'printed' if p.mean() < m.mean() else 'undecided'")),
        ('sign', False, verdict("low, high = interval_of(p - m, rng)\n    return 'printed' if low > 0 else 'mended' if high < 0 else 'undecided'")),
        ('never printed', False, verdict("return 'mended' if interval_of(p - m, rng)[0] > 0 else 'undecided'")),
        ('never undecided', False, verdict("return 'mended' if interval_of(p - m, rng)[0] > 0 else 'printed'")),
        ('upper end', False, verdict("low, high = interval_of(p - m, rng)\n    return 'mended' if high > 0 else 'printed' if low < 0 else 'undecided'")),
        (
            'ninety percent',
            False,
            verdict(
                "low, high = interval_of(p - m, rng, level=.9)\n    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'"
            ),
        ),
        (
            'ninety-nine percent',
            False,
            verdict(
                "low, high = interval_of(p - m, rng, level=.99)\n    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'"
            ),
        ),
        (
            'pairs broken',
            False,
            verdict(
                "low, high = interval_of(np.sort(p)[::-1] - np.sort(m), rng)\n    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'"
            ),
        ),
        (
            'zero counts as above',
            False,
            verdict(
                "low, high = interval_of(p - m, rng)\n    return 'mended' if low >= 0 else 'printed' if high <= 0 else 'undecided'"
            ),
        ),
        ('a majority of pairs', False, verdict("w = np.mean(p > m)\n    return 'mended' if w > .5 else 'printed' if w < .5 else 'undecided'")),
    ],
    'answer': [
        ('read off', True, 'answer_runs = 64'),
        (
            'from the right',
            True,
            'rng = np.random.default_rng(2024 + 1000 * VARIANT); m, s = rng.uniform(.12, .25), rng.uniform(.6, 1.2); d = m + s * rng.normal(size=1024)\n'
            'answer_runs = 1024\nfor n in offered[::-1]:\n    if interval_of(d[:n], None)[0] <= 0: break\n    answer_runs = n',
        ),
        ('as a float', True, 'answer_runs = float(64)'),
        ('one place too few', False, 'answer_runs = offered[offered.index(64) - 1]'),
        ('one place too many', False, 'answer_runs = offered[offered.index(64) + 1]'),
        ('the left end', False, 'answer_runs = 8'),
        ('the right end', False, 'answer_runs = 1024'),
        ('twice as many', False, 'answer_runs = 2 * 64'),
        ('half as many', False, 'answer_runs = 64 // 2'),
        ('not offered', False, 'answer_runs = 100'),
        ('a text', False, "answer_runs = '128'"),
        ('left empty', False, 'answer_runs = None'),
    ],
    'real': [
        ('one loop', True, real()),
        (
            'two lists',
            True,
            "seeds = range(20)\nresults = {m.__name__: [m(new_data(np.random.default_rng(s)), np.random.default_rng(s)) for s in seeds] for m in (printed, mended)}\n"
            "results['verdict'] = verdict(results['printed'], results['mended'], np.random.default_rng(1))",
        ),
        ('arrays', True, real(after="results['printed'], results['mended'] = np.array(results['printed']), np.array(results['mended'])")),
        ('other seeds', False, real(seeds='range(1, 21)')),
        ('nineteen', False, real(seeds='range(19)')),
        ('one data set twenty times', False, real(seed='0')),
        ('a generator that runs on', False, 'rng = np.random.default_rng(0)\n' + real(seed='rng')),
        ('the second form on data of its own', False, real(second='printed(new_data(np.random.default_rng(seed + 100)), np.random.default_rng(seed))')),
        ('the first form twice', False, real(second='printed(data, np.random.default_rng(seed))')),
        ('differences in place of the second', False, real(second="results['printed'][-1] - mended(data, np.random.default_rng(seed)) + 1")),
        ('sorted', False, real(after="results['printed'].sort()")),
        ('the two exchanged', False, real(after="results['printed'], results['mended'] = results['mended'], results['printed']")),
        ('a verdict by wish', False, real(verdict="'printed'")),
        ('a verdict the wrong way round', False, real(verdict="verdict(results['mended'], results['printed'], np.random.default_rng(0))")),
        ('no verdict', False, real(after="del results['verdict']")),
        ('left empty', False, 'results = {}'),
    ],
}

MORE = {
    'interval': [
        ('a generator of its own', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float); rng = np.random.default_rng()
    means = v[rng.integers(len(v), size=(n_draws, len(v)))].mean(1)
    return tuple(map(float, np.quantile(means, [(1 - level) / 2, (1 + level) / 2])))
'''),
        ('standard errors', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    from scipy.stats import norm
    half = norm.ppf((1 + level) / 2) * np.std(values) / len(values)**.5
    return float(np.mean(values) - half), float(np.mean(values) + half)
'''),
        ('sorted means by place', 6, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float)
    means = np.sort([v[rng.integers(0, len(v), len(v))].mean() for _ in range(n_draws)])
    tail = (1 - level) / 2
    return float(means[round(tail * (n_draws - 1))]), float(means[round((1 - tail) * (n_draws - 1))])
'''),
        ('one tail', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float); means = v[rng.integers(len(v), size=(n_draws, len(v)))].mean(1)
    return tuple(map(float, np.quantile(means, [1 - level, level])))
'''),
        ('half of the draws', 6, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float); n = len(v)
    means = np.concatenate([v[rng.integers(n, size=(n_draws // 2, n))].mean(1), v[rng.integers(n, size=(n_draws - n_draws // 2, n))].mean(1)])
    return float(np.quantile(means, .5 - level / 2)), float(np.quantile(means, .5 + level / 2))
'''),
        ('medians', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float); means = np.median(v[rng.integers(len(v), size=(n_draws, len(v)))], axis=1)
    return tuple(map(float, np.quantile(means, [(1 - level) / 2, (1 + level) / 2])))
'''),
        ('values changed', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    values.sort(); means = values[rng.integers(len(values), size=(n_draws, len(values)))].mean(1)
    return tuple(map(float, np.quantile(means, [(1 - level) / 2, (1 + level) / 2])))
'''),
        ('a loop of draws', 6, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float); means = sorted(float(rng.choice(v, len(v)).mean()) for _ in range(n_draws))
    return float(np.percentile(means, 50 * (1 - level))), float(np.percentile(means, 50 * (1 + level)))
'''),
        ('multinomial counts', 6, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float); n = len(v)
    if (v == v[0]).all(): return float(v[0]), float(v[0])
    means = rng.multinomial(n, np.full(n, 1 / n), size=n_draws) @ v / n
    low, high = np.quantile(means, [.5 - level / 2, .5 + level / 2])
    return float(low), float(high)
'''),
        ('scipy', 6, '''
def interval(values, rng, level=.95, n_draws=2000):
    v = np.asarray(values, float)
    if (v == v[0]).all(): return float(v[0]), float(v[0])
    from scipy.stats import bootstrap
    ci = bootstrap((v,), np.mean, confidence_level=level, n_resamples=n_draws, method='percentile', rng=rng).confidence_interval
    return float(ci.low), float(ci.high)
'''),
        ('quantiles of the values', 0, 'def interval(values, rng, level=.95, n_draws=2000): return tuple(map(float, np.quantile(values, [(1 - level) / 2, (1 + level) / 2])))'),
        ('without replacement', 0, '''
def interval(values, rng, level=.95, n_draws=2000):
    means = [rng.permutation(values).mean() for _ in range(n_draws)]
    return tuple(map(float, np.quantile(means, [(1 - level) / 2, (1 + level) / 2])))
'''),
    ],
    'verdict': [
        ('differences as an array', 5, '''
def verdict(printed_values, mended_values, rng):
    low, high = interval_of(np.subtract(printed_values, mended_values), rng)
    if low > 0: return 'mended'
    if high < 0: return 'printed'
    return 'undecided'
'''),
        ('a t-test in place of the interval', 0, '''
def verdict(printed_values, mended_values, rng):
    from scipy.stats import ttest_rel
    t = ttest_rel(printed_values, mended_values)
    return 'undecided' if not t.pvalue < .01 else 'mended' if t.statistic > 0 else 'printed'
'''),
        ('the two exchanged', 0, '''
def verdict(printed_values, mended_values, rng):
    low, high = interval_of(np.subtract(mended_values, printed_values), rng)
    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'
'''),
        ('ninety per cent', 0, '''
def verdict(printed_values, mended_values, rng):
    low, high = interval_of(np.subtract(printed_values, mended_values), rng, level=.9)
    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'
'''),
        ('equal decides', 0, '''
def verdict(printed_values, mended_values, rng):
    low, high = interval_of(np.subtract(printed_values, mended_values), rng)
    return 'mended' if low >= 0 else 'printed' if high <= 0 else 'undecided'
'''),
        ('signs of both ends', 5, '''
def verdict(printed_values, mended_values, rng):
    ends = interval_of([a - b for a, b in zip(printed_values, mended_values)], rng)
    return {2: 'mended', -2: 'printed'}.get(int(np.sign(ends).sum()), 'undecided')
'''),
        ('two intervals that do not overlap', 0, '''
def verdict(printed_values, mended_values, rng):
    a, b = interval_of(printed_values, rng), interval_of(mended_values, rng)
    return 'mended' if a[0] > b[1] else 'printed' if a[1] < b[0] else 'undecided'
'''),
        ('the sign of the mean', 0, '''
def verdict(printed_values, mended_values, rng):
    d = np.mean(printed_values) - np.mean(mended_values)
    return 'mended' if d > 0 else 'printed' if d < 0 else 'undecided'
'''),
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


for bank in (ANSWERS, MORE):  # what is wrong without groups stays wrong
    bank['interval'] = [
        (name, worth, code + GROUPS.format(means=WHOLE, level='level'))
        for name, worth, code in bank['interval']
    ]
ANSWERS['interval'] += [
    ('sums and counts of groups', True, grouped('(lambda w: w @ [p.sum() for p in parts] / (w @ [len(p) for p in parts]))(rng.multinomial(n, np.full(n, 1 / n), size=n_draws))')),
    ('a loop over the groups drawn', True, grouped('[np.mean([x for k in rng.choice(n, n) for x in parts[k]]) for _ in range(n_draws)]')),
    ('groups forgotten', False, interval().replace('n_draws=2000)', 'n_draws=2000, groups=None)')),
    ('the mean of the means of groups', False, grouped('[np.mean([parts[k].mean() for k in rng.integers(n, size=n)]) for _ in range(n_draws)]')),
    ('one value of each group', False, grouped('[np.mean([rng.choice(part) for part in parts]) for _ in range(n_draws)]')),
    ('values drawn within their groups', False, grouped('[np.concatenate([rng.choice(part, len(part)) for part in parts]).mean() for _ in range(n_draws)]')),
    ('groups drawn without replacement', False, grouped(WHOLE.replace('rng.integers(n, size=n)', 'rng.permutation(n)'))),
    ('the level not used with groups', False, grouped(level='.95')),
]  # fmt: skip
