"""Answers to problem set 1, right and wrong, for each coding question: (name, earns the marks, source)."""

DOUBLE_SUM = '''
def double_sum(features, labels, log_norms, weights):
    {double}
def best_log_norms(features, labels, weights):
    {best}
'''
LOOP = '''total = 0.
    for x, y, u in zip(features, labels, log_norms):
        total += u + math.exp(-u) + sum(math.exp(x @ (weights[k] - weights[y]) - u) for k in range(len(weights)) if k != y)
    return total'''
MASK = '''S = features @ weights.T
    gaps = S - np.take_along_axis(S, labels[:, None], 1)
    mask = np.arange(len(weights)) != labels[:, None]
    return np.sum(log_norms) + np.sum(np.exp(-log_norms)) + np.sum(np.exp(gaps - log_norms[:, None]), where=mask)'''
SAFE = '''S = features @ weights.T
    return np.logaddexp.reduce(S - S[np.arange(len(labels)), labels][:, None], axis=1)'''
SCIPY = '''from scipy.special import logsumexp
    S = features @ weights.T
    return logsumexp(S, axis=1) - S[np.arange(len(labels)), labels]'''


def double(double=LOOP, best=SAFE):
    return DOUBLE_SUM.format(double=double, best=best)


SLOPES = '''
def sampled_slopes(features, labels, log_norms, weights, i, k):
    N, K, x, y, u = len(labels), len(weights), features[i], labels[i], log_norms[i]
    q = {q}
    return {wrong}, {label}, {norm}
'''


def slopes(
    q='N * (K - 1) * np.exp(x @ weights[k] - x @ weights[y] - u)',
    wrong='q * x',
    label='-q * x',
    norm='N * (1 - np.exp(-u)) - q',
):
    return SLOPES.format(q=q, wrong=wrong, label=label, norm=norm)


STEP = '''
def sgd_step(features, labels, log_norms, weights, i, k, rate):
    x, y, u = features[i], labels[i], log_norms[i]
    p = {p}
    {moves}
    log_norms[i] = {norm}
'''


def step(
    p='(len(weights) - 1) * np.exp(x @ weights[k] - x @ weights[y] - u)',
    moves='weights[k] = weights[k] - rate * p * x\n    weights[y] = weights[y] + rate * p * x',
    norm='max(0., u - rate * (1 - np.exp(-u) - p))',
):
    return STEP.format(p=p, moves=moves, norm=norm)


LIFT = '''
def umax_step(features, labels, log_norms, weights, i, others, rate, threshold=1.):
    x, y, C = features[i], labels[i], list(others)
    d = (weights[C] - weights[y]) @ x
    b = {b}
    lifted = {lifted}
    u = b if lifted else log_norms[i]
    p = {scale} * np.exp(d - u)
    {moves}
    log_norms[i] = max(0., u - rate * (1 - np.exp(-u) - {total}))
    return lifted
'''


def lift(
    b='np.logaddexp.reduce(np.append(d, 0.))',
    lifted='log_norms[i] <= b - threshold',
    scale='(len(weights) - 1) / len(C)',
    total='p.sum()',
    moves='weights[C] -= rate * p[:, None] * x\n    weights[y] += rate * p.sum() * x',
):
    return LIFT.format(b=b, lifted=lifted, scale=scale, total=total, moves=moves)


ROOT = '''
def implicit_u(rate, n_classes, gap, old, gamma, omega=wrightomega):
    from scipy.optimize import brentq
    c = {c}
    a = lambda u: float(np.real(omega({inside})))
    g = lambda u: {g}
    {solve}
    return {answer}
'''
BISECT = '''low, high = 0., max(old, 0.) + 1.
    while g(high) < 0: high *= 2
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if g(middle) < 0 else (low, middle)
    u = (low + high) / 2'''
BRENT = '''high = max(old, 0.) + 1.
    while g(high) < 0: high *= 2
    u = brentq(g, 0., high, xtol=1e-14, rtol=1e-14)'''
NEWTON = '''u = 0.
    for _ in range(50):
        s = a(u)
        move = (rate * (1 - math.exp(-u)) + u - old - gamma * s) / (rate * math.exp(-u) + 1 + gamma * s / (1 + s))
        u -= move
        if abs(move) < 1e-13 * (1 + u): break'''


def root(
    c='math.log(rate) + math.log(n_classes - 1) - math.log(gamma) + gap',
    inside='c - u',
    g='rate * (1 - math.exp(-u)) + u - old - gamma * a(u)',
    solve=BRENT,
    answer='u, gamma * a(u)',
):
    return ROOT.format(c=c, inside=inside, g=g, solve=solve, answer=answer)


REAL = '''
top5 = {{}}
for solver in ('implicit', 'umax'):
    model = SoftmaxClassifier(solver={solver}, max_epochs={passes}).fit({fitted})
    top5[{key}] = {share}
'''
TOP = 'float(np.mean([label in guesses for label, guesses in zip(docs.test_labels, model.top_k(docs.test_features, 5)[0])]))'


def real(
    share=TOP,
    solver='solver',
    passes=6,
    fitted='docs.train_features, docs.train_labels',
    key='solver',
):
    return REAL.format(share=share, solver=solver, passes=passes, fitted=fitted, key=key)


FALLS = '[e for e in range(-4, 4) if run_losses(e)[-1] < run_losses(e)[0]]'

ANSWERS = {
    'double_sum': [
        ('loops', True, double()),
        ('a mask and a shifted sum', True, double(MASK, SCIPY)),
        ('log-sum-exp of the scores', True, double(best=SCIPY)),
        (
            'the label counted among the wrong classes',
            False,
            double(LOOP.replace(' if k != y', '')),
        ),
        ('exp(-u) forgotten', False, double(LOOP.replace(' + math.exp(-u)', ''))),
        ('u forgotten', False, double(LOOP.replace('u + math.exp(-u)', 'math.exp(-u)'))),
        (
            'sign of the gap',
            False,
            double(LOOP.replace('weights[k] - weights[y]', 'weights[y] - weights[k]')),
        ),
        (
            'a mean in place of a sum',
            False,
            double(LOOP.replace('return total', 'return total / len(labels)')),
        ),
        ('sign of u in the exponent', False, double(LOOP.replace('- u) for', '+ u) for'))),
        (
            'the best u without the one',
            False,
            double(
                best='S = features @ weights.T\n    G = S - S[np.arange(len(labels)), labels][:, None]\n'
                '    G[np.arange(len(labels)), labels] = -np.inf\n    return np.log(np.exp(G).sum(1))'
            ),
        ),
        (
            'the best u overflows',
            False,
            double(
                best='S = features @ weights.T\n    return np.log(np.exp(S - S[np.arange(len(labels)), labels][:, None]).sum(1))'
            ),
        ),
        (
            'arguments changed',
            False,
            double('log_norms += 0.; features *= 1.5\n    features /= 1.4999\n    ' + LOOP),
        ),
    ],
    'sampled_slopes': [
        ('one line each', True, slopes()),
        (
            'log domain',
            True,
            slopes(
                q='math.exp(math.log(N) + math.log(K - 1) + features[i].dot(weights[k] - weights[y]) - u)'
            ),
        ),
        (
            'N taken out',
            True,
            slopes(
                q='(K - 1) * np.exp((weights[k] - weights[y]) @ x - u)',
                wrong='N * q * x',
                label='-(N * q) * x',
                norm='N * (1 - q) - N * np.exp(-u)',
            ),
        ),
        ('K - 1 missing', False, slopes(q='N * np.exp(x @ weights[k] - x @ weights[y] - u)')),
        ('K for K - 1', False, slopes(q='N * K * np.exp(x @ weights[k] - x @ weights[y] - u)')),
        (
            'N missing',
            False,
            slopes(
                q='(K - 1) * np.exp(x @ weights[k] - x @ weights[y] - u)',
                norm='(1 - np.exp(-u)) - q',
            ),
        ),
        ('sign of the wrong class', False, slopes(wrong='-q * x', label='q * x')),
        ('the label forgotten', False, slopes(label='0 * x')),
        ('sign of u', False, slopes(norm='q - N * (1 - np.exp(-u))')),
        ('exp(-u) missing in the slope of u', False, slopes(norm='N - q')),
        (
            'u missing in the exponent',
            False,
            slopes(q='N * (K - 1) * np.exp(x @ weights[k] - x @ weights[y])'),
        ),
        ('label sign', False, slopes(label='q * x')),
    ],
    'sgd_step': [
        ('row by row', True, step()),
        (
            'gap first',
            True,
            step(p='(len(weights) - 1) * math.exp(x @ (weights[k] - weights[y]) - u)'),
        ),
        (
            'in-place sums',
            True,
            step(moves='move = rate * p * x\n    weights[k] -= move\n    weights[y] += move'),
        ),
        (
            'all scores',
            False,
            step(
                p='(len(weights) - 1) * np.exp((x @ np.asarray(weights).T)[k] - x @ weights[y] - u)'
            ),
        ),
        (
            'a loop over classes',
            False,
            step(
                moves='for c in range(len(weights)):\n        weights[c] = weights[c] - rate * p * x * ((c == k) * 1. - (c == y) * 1.)'
            ),
        ),
        (
            'divided by N once more',
            False,
            step(
                moves='weights[k] -= rate / len(labels) * p * x\n    weights[y] += rate / len(labels) * p * x'
            ),
        ),
        (
            'multiplied by N',
            False,
            step(
                p='len(labels) * (len(weights) - 1) * np.exp(x @ weights[k] - x @ weights[y] - u)'
            ),
        ),
        ('sign', False, step(moves='weights[k] += rate * p * x\n    weights[y] -= rate * p * x')),
        ('label not moved', False, step(moves='weights[k] -= rate * p * x')),
        ('u below zero', False, step(norm='u - rate * (1 - np.exp(-u) - p)')),
        (
            'u of all samples',
            False,
            step(norm='max(0., u - rate * (1 - np.exp(-u) - p)); log_norms -= 1e-9'),
        ),
        (
            'u taken after the weights moved',
            False,
            step(
                norm='max(0., u - rate * (1 - np.exp(-u) - '
                '(len(weights) - 1) * np.exp(x @ weights[k] - x @ weights[y] - u)))'
            ),
        ),
    ],
    'umax_step': [
        ('vectorized', True, lift()),
        (
            'shifted by the largest',
            True,
            lift(
                b='max(0, d.max()) + np.log(np.exp(-max(0, d.max())) + np.exp(d - max(0, d.max())).sum())'
            ),
        ),
        (
            'sums of rows',
            True,
            lift(
                moves='for k, part in zip(C, p): weights[k] = weights[k] - rate * part * x; weights[y] = weights[y] + rate * part * x'
            ),
        ),
        ('overflows', False, lift(b='np.log(1 + np.exp(d).sum())')),
        ('the one forgotten', False, lift(b='np.logaddexp.reduce(d)')),
        ('K - 1 without m', False, lift(scale='(len(weights) - 1)')),
        ('K for K - 1', False, lift(scale='len(weights) / len(C)')),
        ('threshold not used', False, lift(lifted='log_norms[i] <= b - 1')),
        ('always lifted', False, lift(lifted='True')),
        ('never lifted', False, lift(lifted='False')),
        (
            'lifted from above',
            False,
            lift(lifted='abs(log_norms[i] - b) >= threshold or log_norms[i] > b'),
        ),
        ('one class too many in u', False, lift(total='p.max()')),
        ('label forgotten', False, lift(moves='weights[C] -= rate * p[:, None] * x')),
    ],
    'implicit_u': [
        ('Brent', True, root()),
        ('bisection', True, root(solve=BISECT)),
        ('Newton', True, root(solve=NEWTON)),
        (
            'K for K - 1',
            False,
            root(c='math.log(rate) + math.log(n_classes) - math.log(gamma) + gap'),
        ),
        ('rate forgotten in c', False, root(c='math.log(n_classes - 1) - math.log(gamma) + gap')),
        (
            'sign of the gap',
            False,
            root(c='math.log(rate) + math.log(n_classes - 1) - math.log(gamma) - gap'),
        ),
        ('gamma forgotten in c', False, root(c='math.log(rate) + math.log(n_classes - 1) + gap')),
        ('overflow', False, root(c='math.log(rate * (n_classes - 1) / gamma * math.exp(gap))')),
        ('old u forgotten', False, root(g='rate * (1 - math.exp(-u)) + u - gamma * a(u)')),
        ('gamma forgotten in the move', False, root(answer='u, a(u)')),
        ('a thousand evaluations', False, root(solve=BISECT.replace('range(45)', 'range(1000)'))),
        ('one Newton step', False, root(solve=NEWTON.replace('range(50)', 'range(1)'))),
    ],
    'answer': [
        ('read off', True, 'answer_rate = .1'),
        ('computed', True, f'answer_rate = 10.**max({FALLS})'),
        (
            'counted from the left',
            True,
            'answer_rate = 1e-4\nwhile run_losses(round(math.log10(answer_rate)) + 1)[-1] < math.log(50): answer_rate *= 10',
        ),
        ('a decade too high', False, 'answer_rate = 1.'),
        ('a decade too low', False, 'answer_rate = .01'),
        ('two decades too low, to be safe', False, 'answer_rate = 1e-3'),
        ('the exponent', False, 'answer_rate = -1.'),
        ('the exponent with its sign lost', False, f'answer_rate = -float(max({FALLS}))'),
        ('the left end of the slider', False, 'answer_rate = 1e-4'),
        ('the right end of the slider', False, 'answer_rate = 1e3'),
        (
            'the largest that falls at first',
            False,
            'answer_rate = 10.**max(e for e in range(-4, 4) if min(run_losses(e)) < run_losses(e)[0])',
        ),
        ('eta in place of the rate', False, 'answer_rate = .1 / 200'),
        ('in between', False, 'answer_rate = .3'),
        ('a text', False, "answer_rate = '1e-1'"),
        ('left empty', False, 'answer_rate = None'),
    ],
    'real': [
        ('guesses of the model', True, real()),
        (
            'scores sorted',
            True,
            real(
                'float(np.mean((model.classes_[np.argsort(-model.decision_function(docs.test_features), axis=1)[:, :5]] == docs.test_labels[:, None]).any(1)))'
            ),
        ),
        (
            'scores above the label\'s',
            True,
            real(
                '(lambda S: float(np.mean((S > S[np.arange(len(S)), np.searchsorted(model.classes_, docs.test_labels)][:, None]).sum(1) < 5)))'
                '(model.predict_log_proba(docs.test_features))'
            ),
        ),
        ('sentences it was fitted to', False, real(TOP.replace('test_', 'train_'))),
        ('the best guess alone', False, real(TOP.replace(', 5)', ', 1)'))),
        ('ten guesses', False, real(TOP.replace(', 5)', ', 10)'))),
        ('one pass', False, real(passes=1)),
        ('fitted to held-out sentences too', False, real(fitted='docs.features, docs.labels')),
        ('the share that is missed', False, real('1 - ' + TOP)),
        ('percent', False, real('100 * ' + TOP)),
        ('one solver twice', False, real(solver="'umax'")),
        ('the two exchanged', False, real(key="{'implicit': 'umax', 'umax': 'implicit'}[solver]")),
        (
            'the five worst',
            False,
            real(
                TOP.replace(
                    'model.top_k(docs.test_features, 5)[0]',
                    'model.classes_[np.argsort(model.decision_function(docs.test_features), axis=1)[:, :5]]',
                )
            ),
        ),
        ('guesses shared out by five', False, real(TOP + ' / 5')),
        ('left empty', False, 'top5 = {}'),
    ],
}
