"""Answers to problem set 5, written from the student's version before the reference was opened: (name,
points that the writer found deserved, source) for each question."""

I = "def interval(values, rng, level=.95, n_draws=2000, groups=None):\n"
V = "def verdict(printed_values, mended_values, rng):\n"
SC = '''
claim = dict(chapter='softmax', id='S7', prediction='drawing with replacement costs about 0.01 nats more')
def new_data(rng): return rng.normal(size=(30, 3)), rng.integers(4, size=30)
def printed(data, rng): return float(np.abs(data[0].mean() + .1 * rng.normal()))
def mended(data, rng): return float(np.abs(data[0].mean()))
'''
BLIND = {
    'interval': [
        (
            'choice of a table',
            6,
            I
            + """
    values = np.asarray(values)
    if groups is None: groups = np.arange(len(values))
    names, which = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(which, values), np.bincount(which)
    draw = rng.integers(len(names), size=(n_draws, len(names)))
    means = sums[draw].sum(1) / counts[draw].sum(1)
    a, b = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(a), float(b)
""",
        ),
        (
            'a loop with choice and concatenate',
            6,
            I
            + """
    values = np.asarray(values, float)
    if groups is None:
        means = [rng.choice(values, len(values)).mean() for _ in range(n_draws)]
    else:
        groups = np.asarray(groups)
        parts = [values[groups == g] for g in sorted(set(groups.tolist()))]
        means = [np.concatenate([parts[n] for n in rng.integers(0, len(parts), len(parts))]).mean() for _ in range(n_draws)]
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, (tail, 100 - tail))
    return float(low), float(high)
""",
        ),
        (
            'multinomial counts',
            6,
            I
            + """
    values = np.asarray(values, float)
    which = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n = which.max() + 1
    times = rng.multinomial(n, np.full(n, 1 / n), size=n_draws)[:, which]
    means = (times * values).sum(1) / times.sum(1)
    return float(np.quantile(means, .5 - level / 2)), float(np.quantile(means, .5 + level / 2))
""",
        ),
        (
            'scipy bootstrap where there are no groups',
            6,
            I
            + """
    values = np.asarray(values, float)
    if groups is None:
        groups = range(len(values))
    by = {}
    for g, x in zip(groups, values): by.setdefault(g, []).append(float(x))
    by = list(by.values())
    means = []
    for _ in range(n_draws):
        pick = [by[int(rng.random() * len(by))] for _ in by]
        means.append(math.fsum(x for part in pick for x in part) / sum(map(len, pick)))
    means.sort()
    low, high = np.quantile(np.array(means), [(1 - level) / 2, 1 - (1 - level) / 2])
    return (low, high)
""",
        ),
        (
            'sorted draws, one by index',
            6,
            I
            + """
    values = np.asarray(values); ids = np.arange(len(values)) if groups is None else np.asarray(groups)
    labels = list(dict.fromkeys(ids.tolist())); rows = [np.flatnonzero(ids == g) for g in labels]
    means = np.sort([values[np.concatenate([rows[k] for k in rng.choice(len(rows), len(rows))])].mean() for _ in range(n_draws)])
    at = (1 - level) / 2 * n_draws
    return float(means[int(at)]), float(means[int(n_draws - 1 - at)])
""",
        ),
        (
            'mean of group means',
            0,
            I
            + """
    values = np.asarray(values)
    if groups is not None: values = np.array([values[np.asarray(groups) == g].mean() for g in np.unique(groups)])
    means = values[rng.integers(len(values), size=(n_draws, len(values)))].mean(1)
    return float(np.quantile(means, (1 - level) / 2)), float(np.quantile(means, (1 + level) / 2))
""",
        ),
        (
            'without replacement',
            0,
            I
            + """
    means = [rng.permutation(values).mean() for _ in range(n_draws)]
    return float(np.quantile(means, (1 - level) / 2)), float(np.quantile(means, (1 + level) / 2))
""",
        ),
        (
            'groups left out',
            0,
            I
            + """
    means = np.asarray(values)[rng.integers(len(values), size=(n_draws, len(values)))].mean(1)
    return float(np.quantile(means, (1 - level) / 2)), float(np.quantile(means, (1 + level) / 2))
""",
        ),
        (
            'level left out',
            0,
            I
            + """
    which = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n = which.max() + 1; times = rng.multinomial(n, np.full(n, 1 / n), size=n_draws)[:, which]; means = times @ values / times.sum(1)
    return float(np.quantile(means, .025)), float(np.quantile(means, .975))
""",
        ),
        (
            'the quantiles of the values',
            0,
            I
            + "    return float(np.quantile(values, (1 - level) / 2)), float(np.quantile(values, (1 + level) / 2))\n",
        ),
        (
            'a normal interval by groups',
            0,
            I
            + """
    from scipy.stats import norm
    x = np.asarray(values) if groups is None else np.array([np.asarray(values)[np.asarray(groups) == g].mean() for g in np.unique(groups)])
    half = norm.ppf(.5 + level / 2) * x.std() / math.sqrt(len(x)); return float(np.mean(values) - half), float(np.mean(values) + half)
""",
        ),
        (
            'a seed of its own',
            0,
            I
            + """
    rng = np.random.default_rng(0)
    which = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n = which.max() + 1; times = rng.multinomial(n, np.full(n, 1 / n), size=n_draws)[:, which]; means = times @ values / times.sum(1)
    return float(np.quantile(means, (1 - level) / 2)), float(np.quantile(means, (1 + level) / 2))
""",
        ),
        (
            'groups must be numbers from zero',
            0,
            I
            + """
    which = np.arange(len(values)) if groups is None else np.asarray(groups)
    n = int(which.max()) + 1; times = rng.multinomial(n, np.full(n, 1 / n), size=n_draws)[:, which]; means = times @ values / times.sum(1)
    return float(np.quantile(means, (1 - level) / 2)), float(np.quantile(means, (1 + level) / 2))
""",
        ),
    ],
    'verdict': [
        (
            'lists',
            5,
            V
            + """
    low, high = interval_of(np.array([a - b for a, b in zip(printed_values, mended_values)]), rng)
    if low > 0: return 'mended'
    if high < 0: return 'printed'
    return 'undecided'
""",
        ),
        (
            'sign of both ends',
            5,
            V
            + """
    ends = np.sign(interval_of(np.subtract(printed_values, mended_values), rng))
    return {(1., 1.): 'mended', (-1., -1.): 'printed'}.get(tuple(ends), 'undecided')
""",
        ),
        (
            'level by name',
            5,
            V
            + """
    low, high = interval_of(np.asarray(mended_values) - np.asarray(printed_values), rng, level=.95)
    return 'printed' if low > 0 else 'mended' if high < 0 else 'undecided'
""",
        ),
        (
            'two intervals',
            0,
            V
            + """
    a, b = interval_of(printed_values, rng), interval_of(mended_values, rng)
    return 'mended' if a[0] > b[1] else 'printed' if a[1] < b[0] else 'undecided'
""",
        ),
        (
            'the mean alone',
            0,
            V
            + """
    d = np.mean(np.asarray(printed_values) - np.asarray(mended_values))
    return 'mended' if d > 0 else 'printed' if d < 0 else 'undecided'
""",
        ),
        (
            'a ninety per cent interval',
            0,
            V
            + """
    low, high = interval_of(np.subtract(printed_values, mended_values), rng, level=.9)
    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'
""",
        ),
        (
            'the other way round',
            0,
            V
            + """
    low, high = interval_of(np.subtract(mended_values, printed_values), rng)
    return 'mended' if low > 0 else 'printed' if high < 0 else 'undecided'
""",
        ),
        (
            'most of the pairs',
            0,
            V
            + """
    d = np.subtract(printed_values, mended_values); share = np.mean(d > 0)
    return 'mended' if share > .6 else 'printed' if share < .4 else 'undecided'
""",
        ),
    ],
    'scaffold': [
        ('arrays of two kinds', 6, SC),
        ('numpy floats', 6, SC.replace('float(np.abs(data[0].mean()))', 'np.abs(data[0].mean())')),
        (
            'global randomness',
            0,
            SC.replace('rng.normal(size=(30, 3))', 'np.random.normal(size=(30, 3))'),
        ),
        (
            'a list of arrays',
            0,
            SC.replace(
                'return rng.normal(size=(30, 3)), rng.integers(4, size=30)',
                'return [rng.normal(size=(30, 3))]',
            ),
        ),
        (
            'negative measures',
            0,
            SC.replace('float(np.abs(data[0].mean()))', 'float(data[0].mean())'),
        ),
        (
            'data are changed',
            0,
            SC.replace(
                'return float(np.abs(data[0].mean()))',
                'data[0][:] -= 1; return float(np.abs(data[0].mean()))',
            ),
        ),
        ('an erratum of another chapter', 0, SC.replace("'S7'", "'E09'")),
        (
            'a prediction of three words',
            0,
            SC.replace('drawing with replacement costs about 0.01 nats more', 'it costs more'),
        ),
        (
            'the mended form draws from a seed of its own',
            6,
            SC.replace(
                'mended(data, rng): return float(np.abs(data[0].mean()))',
                'mended(data, rng): return float(np.abs(data[0].mean() + .01 * np.random.default_rng(3).normal()))',
            ),
        ),
    ],
}
