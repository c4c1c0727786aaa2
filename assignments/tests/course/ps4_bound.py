"""Answers to problem set 4, right and wrong, for each coding question.

ANSWERS: (name, earns the marks of the first test, source). MORE: (name, points over all tests of the question, source),
written from the student's version alone, and the answers that earn a part.
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
        ('two cases', True, weight(SAFE.format('np.tanh(safe / 2) / 2 / safe'))),
        ('logistic function', True, weight(SAFE.format('(expit(safe) - .5) / safe'))),
        ('expm1', True, weight(SAFE.format('-np.expm1(-safe) / (1 + np.exp(-safe)) / 2 / safe'))),
        (
            'a loop',
            True,
            weight(
                'one = lambda v: .25 if v < 1e-7 else 0. if v == math.inf else math.tanh(v / 2) / (2 * v)\n    return np.vectorize(one, otypes=[float])(x)'
            ),
        ),
        ('factor two', False, weight(SAFE.format('np.tanh(safe / 2) / safe'))),
        ('half of the half', False, weight(SAFE.format('np.tanh(safe / 2) / (4 * safe)'))),
        ('no half inside', False, weight(SAFE.format('np.tanh(safe) / 2 / safe'))),
        ('curvature of the function', False, weight('return expit(x) * expit(-x)')),
        ('a quarter everywhere', False, weight('return .25 + 0 * np.minimum(x, 1)')),
        ('nan at zero', False, weight('return np.where(np.isinf(x), 0., np.tanh(np.minimum(x, 1e300) / 2) / (2 * np.minimum(x, 1e300)))')),
        ('nan at infinity', False, weight('s = np.where(x < 1e-8, 1., x)\n    return np.where(x < 1e-8, .25, np.sinh(s / 2) / np.cosh(s / 2) / (2 * s))')),
        (
            'overflows',
            False,
            weight(
                's = np.where(x < 1e-8, 1., x)\n    return np.where(x < 1e-8, .25, np.where(np.isinf(x), 0, (np.exp(s) - 1) / (np.exp(s) + 1) / (2 * s)))'
            ),
        ),
        (
            'digits lost near zero',
            False,
            weight(
                'return np.where(x == 0, .25, np.where(np.isinf(x), 0., (expit(x) - expit(-x)) / (2 * np.where(x == 0, 1, x))))'
            ),
        ),
        (
            'a quarter below one',
            False,
            weight(
                'safe = np.where((x < 1) | np.isinf(x), 1., x)\n    return np.where(x < 1, .25, np.where(np.isinf(x), 0., np.tanh(safe / 2) / 2 / safe))'
            ),
        ),
    ],
    'quadratic_bound': [
        ('the recursion', True, bound()),
        ('all means at once', True, WHOLE),
        ('shares by the new total', True, DICTIONARY),
        ('mean first', False, bound(first=MEAN, second='l = f - mu; ' + CURVE.format('curvature_weight(xi)'))),
        ('a tiny start', False, TINY),
        ('weights, not logarithms', False, RAW),
        ('share of the rest', False, bound(second='mu = mu + expit(-xi) * l')),
        ('curvature forgotten', False, bound(beta='0.')),
        ('curvature of the function', False, bound(beta='expit(xi) * expit(-xi)')),
        ('half the curvature', False, bound(beta='.5 * curvature_weight(xi)')),
        ('twice the curvature', False, bound(beta='2 * curvature_weight(xi)')),
        ('a quarter', False, bound(beta='.25')),
        ('inner for outer product', False, bound(first='S = S + curvature_weight(xi) * (l @ l)')),
        ('total not updated in the log domain', False, bound(value='math.log(math.exp(logz) + math.exp(x))')),
        ('weight zero not skipped', False, bound(given='features, log_weights')),
        ('total updated first', False, bound(gap='x - np.logaddexp(logz, x)')),
        ('largest first', False, bound(given='(lambda o: (features[o], log_weights[o]))([k for k in np.argsort(-log_weights) if log_weights[k] > -np.inf])')),
    ],
    'curvature_times': [
        ('three products', True, times("R = samples @ V.T\n    return np.einsum('iab,ib->ia', S, R).T @ samples + len(samples) * ridge[:, None] * V")),
        (
            'a loop over samples',
            True,
            times(
                'out = len(samples) * ridge[:, None] * V\n    for x, s in zip(samples, S): out = out + (s @ (V @ x))[:, None] * x\n    return out'
            ),
        ),
        ('matmul', True, times('return (S @ (samples @ V.T)[:, :, None])[:, :, 0].T @ samples + ridge[:, None] * len(S) * V')),
        (
            'the matrix formed',
            False,
            times(
                'A = sum(np.kron(s, np.outer(x, x)) for s, x in zip(S, samples)) + len(samples) * np.diag(np.repeat(ridge, V.shape[1]))\n'
                '    return (A @ V.ravel()).reshape(V.shape)'
            ),
        ),
        ('a matrix per sample', False, times('return sum(s @ V @ np.outer(x, x) for s, x in zip(S, samples)) + len(samples) * ridge[:, None] * V')),
        ('ridge once', False, times("return np.einsum('iab,ib->ia', S, samples @ V.T).T @ samples + ridge[:, None] * V")),
        ('ridge forgotten', False, times("return np.einsum('iab,ib->ia', S, samples @ V.T).T @ samples")),
        ('mean for the sum', False, times("return np.einsum('iab,ib->ia', S, samples @ V.T).T @ samples / len(samples) + ridge[:, None] * V")),
        ('S forgotten', False, times('return (samples @ V.T).T @ samples + len(samples) * ridge[:, None] * V')),
        ('diagonal of S', False, times("return (np.einsum('iaa->ia', S) * (samples @ V.T)).T @ samples + len(samples) * ridge[:, None] * V")),
        ('mean of S', False, times('return (samples @ V.T @ S.mean(0)).T @ samples + len(samples) * ridge[:, None] * V')),
        ('ridges of columns', False, times("return np.einsum('iab,ib->ia', S, samples @ V.T).T @ samples + len(samples) * np.resize(ridge, V.shape[1]) * V")),
        ('sum of S', False, times('return S.sum(0) @ V + len(samples) * ridge[:, None] * V')),
        ('sign of the ridge', False, times("return np.einsum('iab,ib->ia', S, samples @ V.T).T @ samples - len(samples) * ridge[:, None] * V")),
    ],
    'majorize_step': [
        ('solve', True, step()),
        ('one-hot labels', True, step(label='P = P - np.eye(len(W))[labels]')),
        ('conjugate gradients', True, CG),
        ('a quotient shifted', True, step(shares='(lambda E: E / E.sum(1, keepdims=True))(np.exp(scores - scores.max(1, keepdims=True)))')),
        ('label forgotten', False, step(label='pass')),
        ('sign', False, step(answer='W + relaxation * np.linalg.solve(A, g.ravel()).reshape(W.shape)')),
        ('ridge once in the gradient', False, step(gradient='P.T @ samples + ridge[:, None] * W')),
        ('ridge once in the matrix', False, step(matrix='full_matrix(samples, S, ridge / t)')),
        ('ridge once in both', False, step(gradient='P.T @ samples + ridge[:, None] * W', matrix='full_matrix(samples, S, ridge / t)')),
        ('ridge forgotten in the gradient', False, step(gradient='P.T @ samples')),
        ('relaxation not used', False, step(answer='W - np.linalg.solve(A, g.ravel()).reshape(W.shape)')),
        ('gradient step', False, step(answer='W - relaxation * g')),
        ('columns for rows', False, step(answer='W - relaxation * np.linalg.solve(A, g.T.ravel()).reshape(W.T.shape).T')),
        ('overflows', False, step(shares='np.exp(scores) / np.exp(scores).sum(1, keepdims=True)')),
        ('the mean of the ridges', False, step(gradient='P.T @ samples + t * ridge.mean() * W')),
        ('mean gradient', False, step(gradient='P.T @ samples / t + ridge[:, None] * W')),
        ('own curvature', False, step(matrix='full_matrix(samples, boehning(t, len(W)), ridge)')),
        ('in place', False, step(answer='np.subtract(W, relaxation * np.linalg.solve(A, g.ravel()).reshape(W.shape), out=W)')),
    ],
    'answer': [
        ('read off', True, 'answer_factor = 0.62'),
        ('one place too high', True, 'answer_factor = 0.64'),
        (
            'searched',
            True,
            's, f, tangent, b = curves()\nneeded = (2 * (f - tangent)[abs(s) > .01] / (b * s[abs(s) > .01]**2)).max()\n'
            'answer_factor = next(c for c in factors if c >= needed)',
        ),
        ('that of one term', False, 'answer_factor = 1.'),
        ('two places too high', False, 'answer_factor = 0.66'),
        ('two places too low', False, 'answer_factor = 0.58'),
        ('the left end', False, 'answer_factor = .4'),
        ('the right end', False, 'answer_factor = 1.1'),
        ('no place of the slider', False, 'answer_factor = 0.63'),
        ('its inverse', False, 'answer_factor = 1 / 0.62'),
        ('left empty', False, 'answer_factor = None'),
    ],
    'real': [
        ('as asked', True, real(back='S[np.ix_(np.argsort(order), np.argsort(order))]').replace('np.eye(3)[order]', 'np.eye(3)')),
        ('rows of the unit matrix', True, real()),
        (
            'a permutation matrix',
            True,
            real(back='np.eye(3)[order].T @ S @ np.eye(3)[order]').replace(
                'quadratic_bound(np.eye(3)[order]', 'quadratic_bound(np.eye(3)'
            ),
        ),
        ('not turned back', False, real().replace('np.eye(3)[order]', 'np.eye(3)')),
        ('largest first', False, real(order="np.argsort(-scores, kind='stable')")),
        ('over-relaxed', False, real(relaxation='1.8')),
        ('too careful', False, real(relaxation='.5')),
        ('sums, not means', False, real(per='1')),
        ('one curvature twice', False, real(fixed='name')),
        ('the chain twice', False, real(fixed="'none'")),
        ('the two exchanged', False, real(key="{'boehning': 'chain', 'chain': 'boehning'}[name]")),
        ('ridge times the number of wines', False, real(ridge='ridge * len(wine_labels)')),
        ('not measured after the last step', False, real(curve='curve[:-1]')),
        ('the start left out', False, real(curve='curve[1:] + curve[-1:]')),
        ('left empty', False, 'curves = {}'),
    ],
}

MORE = {
    'curvature_weight': [
        ('a series everywhere', 0, 'def curvature_weight(gap): x = np.asarray(gap, float); return .25 - x**2 / 48 + x**4 / 480'),
        ('a second derivative', 0, 'def curvature_weight(gap): x = np.asarray(gap, float); return expit(x) * expit(-x)'),
        ('a loop with math', 5, '''
def curvature_weight(gap):
    def one(x):
        x = abs(float(x))
        if x < 1e-3: return .25 - x * x / 48
        return 0. if x == math.inf else math.tanh(x / 2) / 2 / x
    return np.vectorize(one, otypes=[float])(gap)
'''),
        ('the logistic function', 5, '''
def curvature_weight(gap):
    x = np.asarray(gap, float); small = np.abs(x) < 1e-4
    safe = np.where(small, 1., x)
    return np.where(small, .25 - x**2 / 48 * small, (expit(safe) - .5) / safe)
'''),
        ('a tiny number added', 0, 'def curvature_weight(gap): return np.tanh(np.asarray(gap) / 2) / (2 * np.asarray(gap) + 1e-12)'),
        ('nan at zero replaced, tiny ones right', 5, '''
def curvature_weight(gap):
    x = np.abs(np.asarray(gap, float))
    with np.errstate(all='ignore'): out = np.tanh(x / 2) / x / 2
    return np.where(x == 0, .25, np.where(np.isinf(x), 0, out))
'''),
    ],
    'quadratic_bound': [
        ('a recursion of functions', 8, '''
def quadratic_bound(features, log_weights):
    keep = [n for n in range(len(log_weights)) if log_weights[n] > -np.inf]
    def upto(n):
        if n == 0: return float(log_weights[keep[0]]), features[keep[0]].astype(float), np.zeros((features.shape[1],) * 2)
        z, m, S = upto(n - 1); a, f = log_weights[keep[n]], features[keep[n]]; l = f - m
        return float(np.logaddexp(z, a)), m + l / (1 + np.exp(np.clip(z - a, -700, 700))), S + float(curvature_weight(a - z)) * l[:, None] * l
    return upto(len(keep) - 1)
'''),
        ('z in place of log z', 0, '''
def quadratic_bound(features, log_weights):
    z, m, S = 0., np.zeros(features.shape[1]), np.zeros((features.shape[1],) * 2)
    for a, f in zip(log_weights, features):
        w = math.exp(a)
        if z > 0 and w > 0: l = f - m; S += curvature_weight(a - math.log(z)) * np.outer(l, l); m = m + w / (z + w) * l
        elif w > 0: m = f.astype(float)
        z += w
    return math.log(z), m, S
'''),
        ('sorted first', 0, '''
def quadratic_bound(features, log_weights):
    z, m, S = -np.inf, np.zeros(features.shape[1]), np.zeros((features.shape[1],) * 2)
    for n in np.argsort(log_weights):
        a, f = log_weights[n], features[n]
        if a == -np.inf: continue
        if z == -np.inf: z, m = a, f.astype(float); continue
        l = f - m; S = S + curvature_weight(a - z) * np.outer(l, l); m = m + expit(a - z) * l; z = np.logaddexp(z, a)
    return z, m, S
'''),
        ('lists first, the finite ones', 8, '''
def quadratic_bound(features, log_weights):
    live = [(float(a), np.array(f, float)) for a, f in zip(log_weights, features) if np.isfinite(a)]
    (z, m), S = live[0], np.zeros((features.shape[1],) * 2)
    for a, f in live[1:]:
        d = f - m; S += curvature_weight(a - z) * np.outer(d, d)
        new = max(a, z) + math.log1p(math.exp(-abs(a - z))); m = m + math.exp(a - new) * d; z = new
    return z, m, S
'''),
        ('mean first, as in the report', 0, '''
def quadratic_bound(features, log_weights):
    live = [(float(a), np.array(f, float)) for a, f in zip(log_weights, features) if np.isfinite(a)]
    (z, m), S = live[0], np.zeros((features.shape[1],) * 2)
    for a, f in live[1:]:
        b = curvature_weight(a - z); m = m + expit(a - z) * (f - m); S += b * np.outer(f - m, f - m); z = np.logaddexp(z, a)
    return z, m, S
'''),
        ('a quarter everywhere', 0, '''
def quadratic_bound(features, log_weights):
    p = np.exp(log_weights - logsumexp(log_weights)); m = p @ features
    return logsumexp(log_weights), m, .25 * (features - m).T @ (features - m)
'''),
    ],
    'curvature_times': [
        ('sample by sample', 6, '''
def ggn_vp(samples, S, ridge, V):
    out = len(samples) * ridge[:, None] * V
    for s, x in zip(S, samples): out = out + np.outer(s @ (V @ x), x)
    return out
'''),
        ('matmul over the batch', 6, '''
def ggn_vp(samples, S, ridge, V):
    middle = (S @ (samples @ V.T)[:, :, None])[:, :, 0]
    return middle.T @ samples + ridge[:, None] * len(samples) * V
'''),
        ('the matrix', 0, 'def ggn_vp(samples, S, ridge, V): return (full_matrix(samples, S, ridge) @ V.ravel()).reshape(V.shape)'),
        ('ridge once', 0, 'def ggn_vp(samples, S, ridge, V): return np.einsum("tab,tb->ta", S, samples @ V.T).T @ samples + ridge[:, None] * V'),
        ('the mean of the ridges', 0, 'def ggn_vp(samples, S, ridge, V): return np.einsum("tab,tb->ta", S, samples @ V.T).T @ samples + len(samples) * np.mean(ridge) * V'),
    ],
    'majorize_step': [
        ('Cholesky', 6, '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import softmax
    G = (softmax(samples @ W.T, axis=1) - np.eye(len(W))[labels]).T @ samples + len(samples) * ridge[:, None] * W
    return W - relaxation * cho_solve(cho_factor(full_matrix(samples, S, ridge)), G.ravel()).reshape(W.shape)
'''),
        ('conjugate gradients', 6, '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    from scipy.sparse.linalg import LinearOperator, cg
    P = np.exp(samples @ W.T - logsumexp(samples @ W.T, axis=1)[:, None]); P[range(len(labels)), labels] -= 1
    g = (P.T @ samples + ridge[:, None] * len(labels) * W).ravel(); A = full_matrix(samples, S, ridge)
    return W - relaxation * cg(A, g, rtol=1e-12, atol=0, maxiter=2000)[0].reshape(W.shape)
'''),
        ('ridge missing in the gradient', 0, '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    P = np.exp(samples @ W.T - logsumexp(samples @ W.T, axis=1)[:, None]); P[range(len(labels)), labels] -= 1
    return W - relaxation * np.linalg.solve(full_matrix(samples, S, ridge), (P.T @ samples).ravel()).reshape(W.shape)
'''),
        ('overflows', 0, '''
def majorize_step(W, samples, labels, S, ridge, relaxation=1.):
    P = np.exp(samples @ W.T); P /= P.sum(1)[:, None]; P[range(len(labels)), labels] -= 1
    return W - relaxation * np.linalg.solve(full_matrix(samples, S, ridge), (P.T @ samples + len(labels) * ridge[:, None] * W).ravel()).reshape(W.shape)
'''),
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
    ANSWERS[question] = [(name, right, code + wrapper) for name, right, code in ANSWERS[question]]
    MORE[question] = [(name, points, code + wrapper) for name, points, code in MORE[question]]


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
    ('scaled inside and outside', True, weight_at('x = x / temperature; ' + ONE.replace('return ', 'return 1 / temperature * '))),
    ('temperature forgotten', False, weight_at(ONE)),
    ('temperature inside only', False, weight_at('x = x / temperature; ' + ONE)),
    ('temperature outside only', False, weight_at(ONE.replace('return ', 'return 1 / temperature * '))),
    ('multiplied by the temperature', False, weight_at('x = x / temperature; ' + ONE.replace('return ', 'return temperature * '))),
]
ANSWERS['quadratic_bound'] += [
    ('with a temperature', True, bound_at('curvature_weight(xi, temperature)', 'xi / temperature', SOFT)),
    ('temperature forgotten', False, bound_at('curvature_weight(xi)', 'xi', 'np.logaddexp(logz, x)')),
    ('temperature not in the curvature', False, bound_at('curvature_weight(xi)', 'xi / temperature', SOFT)),
    ('temperature not in the share', False, bound_at('curvature_weight(xi, temperature)', 'xi', SOFT)),
    ('temperature twice in the curvature', False, bound_at('curvature_weight(xi / temperature, temperature)', 'xi / temperature', SOFT)),
    ('the total at temperature one', False, bound_at('curvature_weight(xi, temperature)', 'xi / temperature', 'np.logaddexp(logz, x)')),
]  # fmt: skip
