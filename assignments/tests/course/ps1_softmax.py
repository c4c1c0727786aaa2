"""Answers to problem set 1, right and wrong, for each coding question.

ANSWERS: (name, points over all tests of the question, source), one of those that fail alike.
"""

DOUBLE = '''
def double_sum(features, labels, log_norms, weights, prior):
    {body}
'''
LOOP = '''total = 0.
    for x, y, u in zip(features, labels, log_norms):
        total += u + math.exp(-u) + sum(prior[k] / prior[y] * math.exp(x @ (weights[k] - weights[y]) - u) for k in range(len(weights)) if k != y)
    return total'''
MASK = '''S = features @ weights.T + np.log(prior)
    gaps = S - np.take_along_axis(S, labels[:, None], 1)
    mask = np.arange(len(weights)) != labels[:, None]
    return np.sum(log_norms) + np.sum(np.exp(-log_norms)) + np.sum(np.exp(gaps - log_norms[:, None]), where=mask)'''
FULL = '''S = np.exp(features @ weights.T) * prior
    Z = S.sum(1) / S[np.arange(len(labels)), labels]
    return float(np.sum(log_norms + Z * np.exp(-log_norms)))'''


def double(body=LOOP):
    return DOUBLE.format(body=body)


BEST = '''
def best_log_norms(features, labels, weights, prior):
    S = features @ weights.T + np.log(prior)
    own = S[np.arange(len(labels)), labels]
    {body}
'''
SAFE = 'return np.logaddexp.reduce(S - own[:, None], axis=1)'
SCIPY = 'from scipy.special import logsumexp\n    return logsumexp(S, axis=1) - own'


def best(body=SAFE):
    return BEST.format(body=body)


SLOPES = '''
def sampled_slopes(features, labels, log_norms, weights, prior, i, k):
    N, K, x, y, u = len(labels), len(weights), features[i], labels[i], log_norms[i]
    q = {q}
    return {wrong}, {label}, {norm}
'''
RATIO = 'np.exp(x @ weights[k] - x @ weights[y] - u)'


def slopes(
    q='N * (1 - prior[y]) / prior[y] * ' + RATIO,
    wrong='q * x',
    label='-q * x',
    norm='N * (1 - np.exp(-u)) - q',
):
    return SLOPES.format(q=q, wrong=wrong, label=label, norm=norm)


STEP = '''
def sgd_step(features, labels, log_norms, weights, prior, i, k, rate):
    x, y, u = features[i], labels[i], log_norms[i]
    p = {p}
    {moves}
    log_norms[i] = {norm}
'''


def step(
    p='(1 / prior[y] - 1) * ' + RATIO,
    moves='weights[k] = weights[k] - rate * p * x\n    weights[y] = weights[y] + rate * p * x',
    norm='max(0., u - rate * (1 - np.exp(-u) - p))',
):
    return STEP.format(p=p, moves=moves, norm=norm)


LIFT = '''
def umax_step(features, labels, log_norms, weights, prior, i, others, rate, threshold=1.):
    x, y, C = features[i], labels[i], list(others)
    d = (weights[C] - weights[y]) @ x + np.log(prior[C] / prior[y])
    b = {b}
    lifted = {lifted}
    u = b if lifted else log_norms[i]
    p = {scale} * np.exp(d - u)
    {moves}
    log_norms[i] = {norm}
    return lifted
'''


def lift(
    b='np.logaddexp.reduce(np.append(d, 0.))',
    lifted='log_norms[i] <= b - threshold',
    scale='(len(weights) - 1) / len(C)',
    norm='b if lifted else max(0., u - rate * (1 - np.exp(-u) - p.sum()))',
    moves='weights[C] -= rate * p[:, None] * x\n    weights[y] += rate * p.sum() * x',
):
    return LIFT.format(b=b, lifted=lifted, scale=scale, norm=norm, moves=moves)


ROOT = '''
def implicit_u(rate, odds, gap, old, gamma, damping, omega=wrightomega):
    from scipy.optimize import brentq
    c = {c}
    a = lambda u: float(np.real(omega(c - u)))
    g = lambda u: {g}
    {solve}
    return u, gamma * a(u)
'''
BISECT = '''low, high = 0., max(old, 0.) + 1.
    while g(high) < 0: high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if g(middle) < 0 else (low, middle)
    u = (low + high) / 2'''
BRENT = '''high = max(old, 0.) + 1.
    while g(high) < 0: high *= 2
    u = brentq(g, 0., high, xtol=1e-14, rtol=1e-14)'''
NEWTON = '''u = 0.
    for _ in range(50):
        s = a(u)
        move = (rate * (1 - math.exp(-u) + damping * u) + u - old - gamma * s) / (rate * (math.exp(-u) + damping) + 1 + gamma * s / (1 + s))
        u -= move
        if abs(move) < 1e-13 * (1 + u): break'''


def root(
    c='math.log(rate) + math.log(odds) - math.log(gamma) + gap',
    g='rate * (1 - math.exp(-u) + damping * u) + u - old - gamma * a(u)',
    solve=BRENT,
):
    return ROOT.format(c=c, g=g, solve=solve)


REAL = '''
report = {{}}
for solver in ('implicit', 'umax'):
    model = SoftmaxClassifier(solver={solver}, max_epochs={passes}).fit(docs.train_features, docs.train_labels)
    log_proba = model.predict_log_proba(docs.test_features)
    columns = [list(model.classes_).index(label) for label in docs.test_labels]
    report[{key}] = {share}, {loss}
'''
TOP = 'float(np.mean([label in guesses for label, guesses in zip(docs.test_labels, model.top_k(docs.test_features, 5)[0])]))'
LOSS = '-float(np.mean([row[c] for row, c in zip(log_proba, columns)]))'


def real(share=TOP, loss=LOSS, solver='solver', passes=6, key='solver'):
    return REAL.format(share=share, loss=loss, solver=solver, passes=passes, key=key)


ANSWERS = {
    'double_sum': [
        ('loops', 2, double()),
        ('a mask', 2, double(MASK)),
        ('the normalizer as a whole', 2, double(FULL)),
        ('the label among the negatives', 0, double(LOOP.replace(' if k != y', ''))),
        ('a mean in place of a sum', 0, double(LOOP.replace('return total', 'return total / len(labels)'))),
        ('six samples and five classes', 0, double(LOOP.replace('range(len(weights))', 'range(5)'))),
        ('arguments changed', 0, double('log_norms += 1e-9\n    ' + LOOP)),
        (
            'outer differences',
            2,
            '''
def double_sum(X, y, u, W, pi):
    G = np.einsum('nd,nkd->nk', X, W[None] - W[y][:, None]) + np.log(pi)[None] - np.log(pi[y])[:, None]
    E = np.exp(G - u[:, None])
    return u.sum() + np.exp(-u).sum() + E.sum() - np.exp(-u).sum()
''',
        ),
        (
            'the objective of the package, prior as a column',
            2,
            '''
def double_sum(X, y, u, W, pi):
    from extreme_opt.softmax.plain.double_sum import double_sum as theirs
    return theirs(np.c_[W, np.log(pi)], u, np.c_[X, np.ones(len(X))], y)
''',
        ),
    ],
    'best_log_norms': [
        ('log-sum-exp of the gaps', 2, best()),
        ('log-sum-exp of the scores', 2, best(SCIPY)),
        ('shifted by the largest', 2, best('top = S.max(1)\n    return np.log(np.exp(S - top[:, None]).sum(1)) + (top - own)')),
        (
            'softplus of the negatives',
            2,
            best(
                'G = S - own[:, None]; G[np.arange(len(labels)), labels] = -np.inf\n    return np.logaddexp(0, np.logaddexp.reduce(G, axis=1))'
            ),
        ),
        ('overflows', 0, best('return np.log(np.exp(S - own[:, None]).sum(1))')),
        ('without the one', 0, best('G = S - own[:, None]; G[np.arange(len(labels)), labels] = -np.inf\n    return np.logaddexp.reduce(G, axis=1)')),
        ('the largest gap alone', 0, best('return np.maximum(0, (S - own[:, None]).max(1))')),
        ('a hundred at most', 0, best('return np.minimum(100, np.logaddexp.reduce(S - own[:, None], axis=1))')),
        ('six samples', 0, best('return np.logaddexp.reduce(S - S[np.arange(6), labels][:, None], axis=1)')),
        ('arguments changed', 0, best('features *= 2.; features /= 2.; weights += 1.\n    ' + SAFE)),
        ('a list, not an array', 0, best('return list(np.logaddexp.reduce(S - own[:, None], axis=1))')),
    ],
    'sampled_slopes': [
        ('one line each', 6, slopes()),
        ('log domain', 6, slopes(q='math.exp(math.log(N) + math.log1p(-prior[y]) - math.log(prior[y]) + features[i].dot(weights[k] - weights[y]) - u)')),
        (
            'nothing cancelled by hand',
            6,
            slopes(
                q='N / (prior[k] / (1 - prior[y])) * np.exp(x @ weights[k] + np.log(prior[k]) - x @ weights[y] - np.log(prior[y]) - u)'
            ),
        ),
        (
            'N taken out',
            6,
            slopes(
                q='(1 / prior[y] - 1) * np.exp((weights[k] - weights[y]) @ x - u)',
                wrong='N * q * x',
                label='-(N * q) * x',
                norm='N * (1 - q) - N * np.exp(-u)',
            ),
        ),
        ('K - 1 of the lesson', 0, slopes(q='N * (K - 1) * ' + RATIO)),
        ('sign of the negative class', 0, slopes(wrong='-q * x', label='q * x')),
        ('six samples', 0, slopes().replace('len(labels)', '6')),
    ],
    'sgd_step': [
        ('row by row', 6, step()),
        ('gap first', 6, step(p='(1 - prior[y]) / prior[y] * math.exp(x @ (weights[k] - weights[y]) - u)')),
        ('in-place sums', 6, step(moves='move = rate * p * x\n    weights[k] -= move\n    weights[y] += move')),
        ('divided by N once more', 0, step(moves='weights[k] -= rate / len(labels) * p * x\n    weights[y] += rate / len(labels) * p * x')),
        ('label not moved', 0, step(moves='weights[k] -= rate * p * x')),
        ('u below zero', 2, step(norm='u - rate * (1 - np.exp(-u) - p)')),
        ('u of all samples', 2, step(norm='max(0., u - rate * (1 - np.exp(-u) - p)); log_norms -= 1e-9')),
        ('u taken after the weights moved', 2, step(norm='max(0., u - rate * (1 - np.exp(-u) - (1 / prior[y] - 1) * ' + RATIO + '))')),
        ('label from the moved class', 0, step(moves='weights[k] -= rate * p * x\n    p = (1 / prior[y] - 1) * ' + RATIO + '\n    weights[y] += rate * p * x')),
        ('all scores', 4, step(p='(1 / prior[y] - 1) * np.exp((x @ np.asarray(weights).T)[k] - x @ weights[y] - u)')),
        (
            'its own gradient function, three times',
            6,
            slopes()
            + '''
def sgd_step(features, labels, log_norms, weights, prior, i, k, rate):
    args = features, labels, log_norms.copy(), weights, prior, i, k
    a, b, c = (sampled_slopes(*args)[part] for part in range(3))
    eta = rate / len(labels)
    weights[k] -= eta * a
    weights[labels[i]] -= eta * b
    log_norms[i] = max(log_norms[i] - eta * c, 0)
''',
        ),
    ],
    'umax_step': [
        ('vectorized', 5, lift()),
        ('shifted by the largest', 5, lift(b='max(0, d.max()) + np.log(np.exp(-max(0, d.max())) + np.exp(d - max(0, d.max())).sum())')),
        ('sums of rows', 5, lift(moves='for k, part in zip(C, p): weights[k] = weights[k] - rate * part * x; weights[y] = weights[y] + rate * part * x')),
        ('the one forgotten', 1, lift(b='np.logaddexp.reduce(d)')),
        ('K - 1 without m', 1, lift(scale='(len(weights) - 1)')),
        ('m is three', 1, lift(scale='(len(weights) - 1) / 3')),
        ('threshold not used', 1, lift(lifted='log_norms[i] <= b - 1')),
        ('always reset', 0, lift(lifted='True')),
        ('never reset', 0, lift(lifted='False')),
        ('one class too many in u', 1, lift(norm='b if lifted else max(0., u - rate * (1 - np.exp(-u) - p.max()))')),
        ('the step of the lesson', 0, lift(norm='max(0., u - rate * (1 - np.exp(-u) - p.sum()))')),
        (
            'all samples reset',
            1,
            lift(norm='b if lifted else max(0., u - rate * (1 - np.exp(-u) - p.sum()))\n    if lifted: log_norms[:] = np.maximum(log_norms, b)'),
        ),
        ('the prior forgotten', 0, lift().replace(' + np.log(prior[C] / prior[y])', '')),
        ('overflows', 4, lift(b='np.log(1 + np.exp(d).sum())')),
        (
            'plain loops',
            5,
            '''
def umax_step(X, y, u, W, pi, i, others, rate, threshold=1.):
    gaps = [float(X[i] @ W[k]) - float(X[i] @ W[y[i]]) + math.log(pi[k]) - math.log(pi[y[i]]) for k in others]
    m = max(gaps + [0.]); b = m + math.log(sum(math.exp(g - m) for g in gaps + [0.]))
    hit = u[i] <= b - threshold
    here = b if hit else u[i]
    total = 0.; new = {}
    for k, g in zip(others, gaps):
        p = (len(W) - 1) / len(others) * math.exp(g - here); total += p; new[k] = W[k] - rate * p * X[i]
    W[y[i]] = W[y[i]] + rate * total * X[i]
    for k in new: W[k] = new[k]
    u[i] = here if hit else max(0., here + rate * (total + math.exp(-here) - 1))
    return hit
''',
        ),
    ],
    'implicit_u': [
        ('Brent', 8, root()),
        ('bisection', 8, root(solve=BISECT)),
        ('Newton', 8, root(solve=NEWTON)),
        ('odds less one', 0, root(c='math.log(rate) + math.log(odds - .5) - math.log(gamma) + gap')),
        ('old u forgotten', 0, root(g='rate * (1 - math.exp(-u) + damping * u) + u - gamma * a(u)')),
        (
            'the step of the package',
            0,
            'from extreme_opt.softmax.implicit import pair_step\n'
            'def implicit_u(rate, odds, gap, old, gamma, damping, omega=wrightomega):\n'
            '    move, u = pair_step(rate, odds + 1, gap, old, gamma)[:2]\n    return u, move',
        ),
        (
            'Newton from the old u, nothing clipped, as the lesson says',
            8,
            root(solve=NEWTON.replace('u = 0.', 'u = old').replace('range(50)', 'range(200)')),
        ),
        ('overflow of exp(gap)', 5, root(c='math.log(rate * odds / gamma * math.exp(gap))')),
        ('a thousand evaluations', 5, root(solve=BISECT.replace('range(60)', 'range(1000)'))),
        ('a fixed point that need not converge', 0, root(solve='u = old\n    for _ in range(50): u = old + gamma * a(u) - rate * (1 - math.exp(-u) + damping * u)')),
    ],
    'answer': [
        ('read off', 3, 'answer_rate = .1'),
        (
            'a loop of its own',
            3,
            '''
def ends(rate):
    rng = np.random.default_rng(1000 * VARIANT); X = rng.normal(size=(200, 8)); X = X / np.linalg.norm(X, axis=1)[:, None] * row_length()
    Y, W, U = rng.integers(50, size=200), np.zeros((50, 8)), np.full(200, np.log(50.))
    for t in range(400):
        i = int(rng.integers(200)); k = int(rng.integers(49)); k += k >= Y[i]; d = X[i] @ (W[k] - W[Y[i]]) - U[i]
        if d > 300: return np.inf
        p = 49 * np.exp(d); W[k] -= rate * p * X[i]; W[Y[i]] += rate * p * X[i]; U[i] = max(0, U[i] - rate * (1 - np.exp(-U[i]) - p))
    S = X @ W.T
    return np.mean(np.log(np.exp(S - S.max(1)[:, None]).sum(1)) + S.max(1) - S[np.arange(200), Y])
answer_rate = [r for r in (.01, .02, .05, .1, .2, .5, 1., 2., 5., 10., 20., 50.) if ends(r) < np.log(50)][-1]
''',
        ),
        ('as a fraction', 3, 'answer_rate = 1 / 10'),
        ('one place too high', 0, 'answer_rate = .2'),
        ('one place too low', 0, 'answer_rate = .05'),
        ('the exponent', 0, 'answer_rate = -1.'),
    ],
    'real': [
        ('guesses of the model', 5, real()),
        (
            'scores sorted',
            5,
            real(
                'float(np.mean((model.classes_[np.argsort(-model.decision_function(docs.test_features), axis=1)[:, :5]] == docs.test_labels[:, None]).any(1)))'
            ),
        ),
        ('ranks of the labels', 5, real('float(np.mean((log_proba > log_proba[np.arange(len(columns)), columns][:, None]).sum(1) < 5))')),
        ('sentences it was fitted to', 0, real(TOP.replace('test_', 'train_'))),
        ('the best guess alone', 0, real(TOP.replace(', 5)', ', 1)'))),
        ('four passes', 0, real(passes=4)),
        ('five passes', 0, real(passes=5)),
        ('percent', 0, real('100 * ' + TOP)),
        ('one solver twice', 0, real(solver="'umax'")),
        ('the two exchanged', 0, real(key="{'implicit': 'umax', 'umax': 'implicit'}[solver]")),
        ('a sum of losses', 0, real(loss=LOSS + ' * len(columns)')),
        ('sign of the loss', 0, real(loss=LOSS[1:])),
        ('left empty', 0, 'report = {}'),
        ('predicted probabilities', 5, real(loss='-float(np.mean(np.log(model.predict_proba(docs.test_features)[np.arange(len(columns)), columns])))')),
        ('sklearn metrics', 5, real(loss='__import__("sklearn.metrics", fromlist=["x"]).log_loss(docs.test_labels, np.exp(log_proba), labels=model.classes_)')),
    ],
}  # fmt: skip
