"""Answers to problem set 4, right and wrong, for each coding question.

ANSWERS: (name, points over all tests of the question, source), one of those that fail alike.
"""

WEIGHT = '''
def curvature_weight(gap):
    x = np.abs(np.asarray(gap, float))
    {body}
'''


def weight(body):
    return WEIGHT.format(body=body)


SAFE = 'safe = np.where((x < 1e-8) | np.isinf(x), 1., x)\n    return np.where(x < 1e-8, .25, np.where(np.isinf(x), 0., {}))'

BOUND = '''
def quadratic_bound(features, log_weights):
    F, a = {given}
    logz, mu, S = float(a[0]), F[0].astype(float), np.zeros((F.shape[1],) * 2)
    for x, f in zip(a[1:], F[1:]):
        xi, l = {gap}, f - mu
        {first}
        {second}
        logz = {value}
    return logz, mu, S
'''
KEEP = 'features[np.isfinite(log_weights)], log_weights[np.isfinite(log_weights)]'
CURVE, MEAN = 'S = S + {} * np.outer(l, l)', 'mu = mu + expit(xi) * l'


def bound(
    given=KEEP,
    gap='x - logz',
    beta='curvature_weight(xi)',
    first=None,
    second=MEAN,
    value='np.logaddexp(logz, x)',
):
    return BOUND.format(
        given=given, gap=gap, first=first or CURVE.format(beta), second=second, value=value
    )


WHOLE = '''
def quadratic_bound(features, log_weights):
    use = np.flatnonzero(np.asarray(log_weights) > -np.inf)
    F, a = features[use], np.asarray(log_weights)[use]
    total = np.logaddexp.accumulate(a)
    means = np.array([np.exp(a[:j + 1] - total[j]) @ F[:j + 1] for j in range(len(a))])
    L = np.sqrt(curvature_weight(a[1:] - total[:-1]))[:, None] * (F[1:] - means[:-1])
    return total[-1], means[-1], L.T @ L
'''
DICTIONARY = '''
def quadratic_bound(features, log_weights):
    logz, mu, S = None, None, np.zeros((features.shape[1], features.shape[1]))
    for j in range(len(log_weights)):
        if not np.isfinite(log_weights[j]): continue
        if logz is None: logz, mu = log_weights[j], 1. * features[j]; continue
        top = max(logz, log_weights[j])
        new = top + math.log(math.exp(logz - top) + math.exp(log_weights[j] - top))
        kappa = math.exp(log_weights[j] - new)
        S += float(curvature_weight(log_weights[j] - logz)) * (features[j] - mu)[:, None] * (features[j] - mu)
        mu, logz = (1 - kappa) * mu + kappa * features[j], new
    return logz, mu, S
'''
RAW = '''
def quadratic_bound(features, log_weights):
    z, mu, S = 0., 0 * features[0], np.zeros((features.shape[1],) * 2)
    for a, f in zip(np.exp(log_weights), features):
        if a == 0: continue
        if z == 0: z, mu = a, f; continue
        l = f - mu
        S = S + curvature_weight(math.log(a / z)) * np.outer(l, l); mu = mu + a / (z + a) * l; z += a
    return math.log(z), mu, S
'''
TINY = '''
def quadratic_bound(features, log_weights):
    logz, mu, S = math.log(1e-16), 0 * features[0], np.zeros((features.shape[1],) * 2)
    for x, f in zip(log_weights, features):
        if x == -np.inf: continue
        l = f - mu
        S = S + curvature_weight(x - logz) * np.outer(l, l); mu = mu + expit(x - logz) * l; logz = np.logaddexp(logz, x)
    return logz, mu, S
'''

TIMES = '''
def ggn_vp(samples, S, ridge, V):
    {body}
'''


def times(body):
    return TIMES.format(body=body)


STEP = '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    t = len(labels)
    scores = samples @ W.T
    P = {shares}
    {label}
    g = {gradient}
    A = {matrix}
    return {answer}
'''


def step(
    shares='np.exp(scores - logsumexp(scores, axis=1, keepdims=True))',
    label='P[np.arange(t), labels] -= 1',
    gradient='P.T @ samples + t * ridge[:, None] * W',
    matrix='full_matrix(samples, S, ridge)',
    answer='W - relaxation * np.linalg.solve(A, g.ravel()).reshape(W.shape)',
):
    return STEP.format(shares=shares, label=label, gradient=gradient, matrix=matrix, answer=answer)


CG = '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    scores = samples @ W.T
    scores = scores - scores.max(1, keepdims=True)
    P = np.exp(scores) / np.exp(scores).sum(1, keepdims=True) - np.eye(len(W))[labels]
    g = P.T @ samples + len(samples) * ridge[:, None] * W
    x, r = np.zeros_like(W), g.copy(); p = r.copy()
    for _ in range(4 * W.size):
        q = ggn_vp(samples, S, ridge, p)
        alpha = (r * r).sum() / (p * q).sum()
        x += alpha * p; new = r - alpha * q
        if np.abs(new).max() < 1e-13 * (1 + np.abs(g).max()): break
        p = new + (new * new).sum() / (r * r).sum() * p; r = new
    return W - relaxation * x
'''

REAL = '''
curves = {{}}
def chain(scores):
    order = {order}
    S = quadratic_bound(np.eye(3)[order], scores[order])[2]
    return {back}
for name in ('boehning', 'chain'):
    W, curve = np.zeros((3, wine_samples.shape[1])), []
    for _ in range(11):
        curve.append(objective(W, wine_samples, wine_labels, ridge) / {per})
        S = boehning(len(wine_labels), 3) if name == {fixed} else np.array([chain(s) for s in wine_samples @ W.T])
        W = majorize_step(W, wine_samples, wine_labels, S, {ridge}, {relaxation})
    curves[{key}] = {curve}
'''


def real(
    order="np.argsort(scores, kind='stable')",
    back='S',
    per='len(wine_labels)',
    fixed="'boehning'",
    relaxation='1.',
    ridge='ridge',
    key='name',
    curve='curve',
):
    return REAL.format(
        order=order,
        back=back,
        per=per,
        fixed=fixed,
        relaxation=relaxation,
        ridge=ridge,
        key=key,
        curve=curve,
    )


ANSWERS = {
    'curvature_weight': [
        ('two cases', 5, weight(SAFE.format('np.tanh(safe / 2) / 2 / safe'))),
        ('logistic function', 5, weight(SAFE.format('(expit(safe) - .5) / safe'))),
        ('expm1', 5, weight(SAFE.format('-np.expm1(-safe) / (1 + np.exp(-safe)) / 2 / safe'))),
        ('factor two', 0, weight(SAFE.format('np.tanh(safe / 2) / safe'))),
        ('nan at zero', 0, weight('return np.where(np.isinf(x), 0., np.tanh(np.minimum(x, 1e300) / 2) / (2 * np.minimum(x, 1e300)))')),
        ('nan at infinity', 0, weight('s = np.where(x < 1e-8, 1., x)\n    return np.where(x < 1e-8, .25, np.sinh(s / 2) / np.cosh(s / 2) / (2 * s))')),
        (
            'overflows',
            0,
            weight(
                's = np.where(x < 1e-8, 1., x)\n    return np.where(x < 1e-8, .25, np.where(np.isinf(x), 0, (np.exp(s) - 1) / (np.exp(s) + 1) / (2 * s)))'
            ),
        ),
        (
            'a quarter below one',
            0,
            weight(
                'safe = np.where((x < 1) | np.isinf(x), 1., x)\n    return np.where(x < 1, .25, np.where(np.isinf(x), 0., np.tanh(safe / 2) / 2 / safe))'
            ),
        ),
    ],
    'quadratic_bound': [
        ('the recursion', 8, bound()),
        ('all means at once', 8, WHOLE),
        ('shares by the new total', 8, DICTIONARY),
        ('a tiny start', 0, TINY),
        ('weights, not logarithms', 0, RAW),
        ('twice the curvature', 0, bound(beta='2 * curvature_weight(xi)')),
        ('total not updated in the log domain', 0, bound(value='math.log(math.exp(logz) + math.exp(x))')),
        ('weight zero not skipped', 0, bound(given='features, log_weights')),
    ],
    'curvature_times': [
        ('three products', 6, times("R = samples @ V.T\n    return np.einsum('iab,ib->ia', S, R).T @ samples + len(samples) * ridge[:, None] * V")),
        (
            'a loop over samples',
            6,
            times(
                'out = len(samples) * ridge[:, None] * V\n    for x, s in zip(samples, S): out = out + (s @ (V @ x))[:, None] * x\n    return out'
            ),
        ),
        ('matmul', 6, times('return (S @ (samples @ V.T)[:, :, None])[:, :, 0].T @ samples + ridge[:, None] * len(S) * V')),
        (
            'the matrix formed',
            0,
            times(
                'A = sum(np.kron(s, np.outer(x, x)) for s, x in zip(S, samples)) + len(samples) * np.diag(np.repeat(ridge, V.shape[1]))\n'
                '    return (A @ V.ravel()).reshape(V.shape)'
            ),
        ),
        ('ridge once', 0, times("return np.einsum('iab,ib->ia', S, samples @ V.T).T @ samples + ridge[:, None] * V")),
    ],
    'majorize_step': [
        ('solve', 6, step()),
        ('one-hot labels', 6, step(label='P = P - np.eye(len(W))[labels]')),
        ('conjugate gradients', 6, CG),
        ('label forgotten', 0, step(label='pass')),
        ('relaxation not used', 0, step(answer='W - np.linalg.solve(A, g.ravel()).reshape(W.shape)')),
        ('overflows', 0, step(shares='np.exp(scores) / np.exp(scores).sum(1, keepdims=True)')),
        ('own curvature', 0, step(matrix='full_matrix(samples, boehning(t, len(W)), ridge)')),
        ('Cholesky', 6, '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import softmax
    G = (softmax(samples @ W.T, axis=1) - np.eye(len(W))[labels]).T @ samples + len(samples) * ridge[:, None] * W
    return W - relaxation * cho_solve(cho_factor(full_matrix(samples, S, ridge)), G.ravel()).reshape(W.shape)
'''),
    ],
    'answer': [
        ('read off', 3, 'answer_factor = 0.62'),
        ('one place too high', 3, 'answer_factor = 0.64'),
        (
            'searched',
            3,
            's, f, tangent, b = curves()\nneeded = (2 * (f - tangent)[abs(s) > .01] / (b * s[abs(s) > .01]**2)).max()\n'
            'answer_factor = next(c for c in factors if c >= needed)',
        ),
        ('that of one term', 0, 'answer_factor = 1.'),
        ('two places too high', 0, 'answer_factor = 0.66'),
        ('no place of the slider', 0, 'answer_factor = 0.63'),
    ],
    'real': [
        ('as asked', 5, real(back='S[np.ix_(np.argsort(order), np.argsort(order))]').replace('np.eye(3)[order]', 'np.eye(3)')),
        ('rows of the unit matrix', 5, real()),
        (
            'a permutation matrix',
            5,
            real(back='np.eye(3)[order].T @ S @ np.eye(3)[order]').replace(
                'quadratic_bound(np.eye(3)[order]', 'quadratic_bound(np.eye(3)'
            ),
        ),
        ('not turned back', 0, real().replace('np.eye(3)[order]', 'np.eye(3)')),
        ('largest first', 0, real(order="np.argsort(-scores, kind='stable')")),
        ('sums, not means', 0, real(per='1')),
        ('not measured after the last step', 0, real(curve='curve[:-1]')),
        ('the start left out', 0, real(curve='curve[1:] + curve[-1:]')),
        ('left empty', 0, 'curves = {}'),
    ],
}  # fmt: skip


# A bound at temperature one, at another: for the function of which it is the bound, and for what its user asks.
HOT = {
    'curvature_weight': """
_at_one = curvature_weight
def curvature_weight(gap, temperature=1.): return _at_one(np.asarray(gap, float) / temperature) / temperature
""",
    'quadratic_bound': """
_at_one = quadratic_bound
def quadratic_bound(features, log_weights, temperature=1.):
    value, mean, curvature = _at_one(features / temperature, log_weights / temperature)
    return temperature * value, temperature * mean, temperature * curvature
""",
}
ONE = SAFE.format('np.tanh(safe / 2) / 2 / safe')
for question, wrapper in HOT.items():
    ANSWERS[question] = [(name, points, code + wrapper) for name, points, code in ANSWERS[question]]


def weight_at(body):
    "A weight that knows the temperature."
    return (
        'def curvature_weight(gap, temperature=1.):\n    x = np.abs(np.asarray(gap, float))\n    '
        + body
    )


def bound_at(beta, share, value):
    "The recursion with a temperature."
    return bound(beta=beta, second=f'mu = mu + expit({share}) * l', value=value).replace(
        'log_weights):', 'log_weights, temperature=1.):'
    )


SOFT = 'temperature * np.logaddexp(logz / temperature, x / temperature)'
ANSWERS['curvature_weight'] += [
    ('temperature outside only', 0, weight_at(ONE.replace('return ', 'return 1 / temperature * ')))
]
ANSWERS['quadratic_bound'] += [
    ('with a temperature', 8, bound_at('curvature_weight(xi, temperature)', 'xi / temperature', SOFT)),
    ('temperature forgotten', 0, bound_at('curvature_weight(xi)', 'xi', 'np.logaddexp(logz, x)')),
]  # fmt: skip
