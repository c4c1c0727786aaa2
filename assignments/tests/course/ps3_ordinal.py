"""Answers to problem set 3, right and wrong, for each coding question.

ANSWERS: (name, points over all tests of the question, source), one of those that fail alike.
"""

SLOPES = '''
def triplet_slopes(anchor, near, far, margin):
    u, v = anchor - near, anchor - far
    z = {z}
    s = {share}
    return {anchor}, {near}, {far}
'''


def slopes(
    z='u @ u - v @ v + margin',
    share='math.exp(min(z, 0)) / (1 + math.exp(-abs(z)))',
    anchor='2 * s * (far - near)',
    near='2 * s * (near - anchor)',
    far='2 * s * (anchor - far)',
):
    return SLOPES.format(z=z, share=share, anchor=anchor, near=near, far=far)


LOSS = '''
def loss_and_gradient(X, triplets, margin=0.):
    i, j, k = np.asarray(triplets).T
    u, v = X[i] - X[j], X[i] - X[k]
    z = {z}
    s = {share}
    G = np.zeros(X.shape)
    {add}
    return {value}, G / len(i)
'''
ADD = 'np.add.at(G, i, np.asarray(s[:, None] * (u - v))); np.add.at(G, j, np.asarray(-s[:, None] * u)); np.add.at(G, k, np.asarray(s[:, None] * v))'
EXPIT = 'np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z)))'


def loss(
    z='(u**2).sum(1) - (v**2).sum(1) + margin',
    share='2 * ' + EXPIT,
    add=ADD,
    value='np.mean(np.logaddexp(0, z))',
):
    return LOSS.format(z=z, share=share, add=add, value=value)


LOOP = '''for q in range(len(i)):
        G[i[q]] += s[q] * (u[q] - v[q]); G[j[q]] -= s[q] * u[q]; G[k[q]] += s[q] * v[q]'''
COUNT = '''for c in range(X.shape[1]):
        w = lambda part: np.asarray(s * part[:, c])
        G[:, c] = np.bincount(i, w(u - v), len(X)) - np.bincount(j, w(u), len(X)) + np.bincount(k, w(v), len(X))'''
TABLE = (
    '((X[:, None] - X[None])**2).sum(2)[i, j] - ((X[:, None] - X[None])**2).sum(2)[i, k] + margin'
)

DIRECTION = '''
def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):
    f = lambda Z, q: gradient_of(Z, triplets[[q]])
    N, B = len(triplets), len(batch)
    {body}
'''


def direction(
    term='(f(X, q) - f(snapshot, q)) / (N * p[q])', start='full', after='/ B', rows='batch'
):
    return DIRECTION.format(body=f'return {start} + sum({term} for q in {rows}) {after}')


STEP = '''
def step_sizes(moved, turned, epsilon, n_inner, previous):
    length = {length}
    below = {below}
    still = {still}
    with np.errstate(all='ignore'):
        eta = {eta}
    return {answer}
'''


def step(
    length='np.sum(moved**2, axis=1)',
    below='np.abs(np.sum(moved * turned, axis=1)) + epsilon * length',
    still='~moved.any(axis=1)',
    eta='length / below / n_inner',
    answer='np.where(still, previous, eta)',
):
    return STEP.format(length=length, below=below, still=still, eta=eta, answer=answer)


ERROR = '''
def triplet_error(X, triplets):
    i, j, k = np.asarray(triplets).T
    wrong = {wrong}
    return {share}, np.bincount(i[wrong], minlength=len(X))
'''
NEAR, FAR = '((X[i] - X[j])**2).sum(1)', '((X[i] - X[k])**2).sum(1)'


def error(wrong=f'~({NEAR} < {FAR})', share='float(wrong.mean())'):
    return ERROR.format(wrong=wrong, share=share)


KEEP = '''
def keep(maps, triplets):
    def price(X):
        {price}
    return {answer}
'''
MINE = 'return loss_and_gradient(X, triplets)[0] + ridge * (X**2).sum() / len(X)'


def keep(price=MINE, answer='int(np.argmin([price(X) for X in maps]))'):
    return KEEP.format(price=price, answer=answer)


REAL = '''
def objective(flat):
    X = flat.reshape(21, -1)
    value, gradient = loss_and_gradient(X, {fitted})
    return value + {price}, (gradient + {pull}).ravel()
fits = [minimize(objective, start.ravel(), jac=True, method='L-BFGS-B', options=dict(maxiter={steps})) for start in {starts}]
best = {best}
errors = {errors}
'''
SHARES = 'dict(objectives=[fit.fun for fit in fits], train=triplet_error(best, known)[0], test=triplet_error(best, hidden)[0])'


def real(
    starts='starts',
    best='min(fits, key=lambda fit: fit.fun).x.reshape(21, -1)',
    errors=SHARES,
    fitted='known',
    steps=200,
    price='ridge * (X**2).sum() / 21',
    pull='2 * ridge * X / 21',
):
    return REAL.format(
        starts=starts, best=best, errors=errors, fitted=fitted, steps=steps, price=price, pull=pull
    )


ANSWERS = {
    'triplet_slopes': [
        ('differences of points', 6, slopes()),
        ('scipy', 6, slopes(share='__import__("scipy.special", fromlist=["expit"]).expit(z)', anchor='2 * s * (u - v)', near='-2 * s * u', far='2 * s * v')),
        ('log domain', 6, slopes(z='np.linalg.norm(u)**2 - np.linalg.norm(v)**2 + margin', share='np.exp(-np.logaddexp(0, -z))')),
        ('near and far exchanged in the share', 0, slopes(z='v @ v - u @ u + margin')),
        ('anchor moved by the near one alone', 0, slopes(anchor='2 * s * (anchor - near)')),
        ('distance for its square', 0, slopes(z='np.linalg.norm(u) - np.linalg.norm(v) + margin')),
        ('share forgotten', 0, slopes(share='1.')),
        ('overflows', 4, slopes(share='math.exp(z) / (1 + math.exp(z))')),
        ('overflows the other way', 4, slopes(share='1 / (1 + math.exp(-z))')),
        ('a clipped share', 4, slopes(share='1 / (1 + math.exp(-max(min(z, 5), -5)))').replace('z = u @', 'z = u @')),
    ],
    'loss_and_gradient': [
        ('add.at', 6, loss()),
        ('a loop over triplets', 6, loss(add=LOOP)),
        ('bincount per column', 6, loss(add=COUNT)),
        (
            'nan set to zero',
            2,
            loss(share='0 * z').replace(
                '    G =',
                '    with np.errstate(all="ignore"): s = 2 * np.nan_to_num(np.exp(z) / (1 + np.exp(z)))\n    G =',
            ),
        ),
        ('share clipped', 0, loss(share='2 / (1 + np.exp(-np.clip(z, -5, 5)))')),
        ('every answer once', 0, loss().replace('i, j, k = np.asarray(triplets).T', 'i, j, k = np.unique(np.asarray(triplets), axis=0).T')),
        ('answers turned in place', 2, loss().replace('    u, v =', '    triplets[:] = triplets[::-1]\n    u, v =')),
        ('a list of one', 2, loss(value='np.array([np.mean(np.logaddexp(0, z))])')),
        ('loss overflows', 2, loss(value='np.mean(np.log(1 + np.exp(z)))')),
        ('a table of all distances', 4, loss(z=TABLE)),
        ('all pairs, row by row, after np.asarray', 4, loss().replace('    G =', '    Y = np.asarray(X)\n    for row in range(len(Y)): ((Y - Y[row])**2).sum(1)\n    G =')),
        ('all pairs in blocks of ten rows', 4, loss().replace('    G =', '    for row in range(0, len(X), 10): ((X[row:row + 10, None] - X[None])**2).sum(2)\n    G =')),
    ],
    'svrg_direction': [
        ('one by one', 5, direction()),
        ('differences of weighted gradients', 5, direction('f(X, q) / p[q] - f(snapshot, q) / p[q]', after='/ (N * B)')),
        ('counted draws', 5, '''
def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):
    v = np.array(full)
    for q, times in zip(*np.unique(batch, return_counts=True)):
        one = triplets[q][None]
        v += times / (len(batch) * len(triplets) * p[q]) * (gradient_of(X, one) - gradient_of(snapshot, one))
    return v
'''),
        ('the direction of the lesson', 0, direction('f(X, q) - f(snapshot, q)')),
        ('plain SGD', 0, direction('f(X, q) / (N * p[q])', start='0')),
        ('the full gradient', 0, 'def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of): return gradient_of(X, triplets)'),
        ('repetitions dropped, mean over what is left', 0, direction(rows='np.unique(batch)', after='/ len(np.unique(batch))')),
        ('gradients of its own', 0, direction('(loss_and_gradient(X, triplets[[q]])[1] - loss_and_gradient(snapshot, triplets[[q]])[1]) / (N * p[q])')),
    ],
    'step_size': [
        ('vectorized', 5, step()),
        ('row by row', 5, '''
def step_sizes(moved, turned, epsilon, n_inner, previous):
    out = []
    for d, t, old in zip(moved, turned, previous):
        if not d.any(): out.append(old); continue
        below = abs(d @ t) + epsilon * (d @ d)
        out.append((d @ d) / below / n_inner if below else np.inf)
    return np.array(out)
'''),
        ('curvature first', 5, step(below='np.abs((moved * turned).sum(1)) / np.where(length > 0, length, 1) + epsilon', eta='1 / below / n_inner')),
        ('one step for the whole map', 0, step(length='np.full(len(moved), (moved**2).sum())', below='abs((moved * turned).sum()) + epsilon * length')),
        ('previous when the denominator is zero', 0, step(still='below == 0')),
        ('nothing turned taken for nothing moved', 0, step(still='~turned.any(axis=1)')),
        ('no absolute value', 0, step(below='(moved * turned).sum(1) + epsilon * length')),
        ('previous changed in place', 0, step(answer='previous.__setitem__(~still, eta[~still]) or previous')),
    ],
    'triplet_error': [
        ('not less', 4, error()),
        ('one minus the right ones', 4, error(share=f'1 - np.mean({NEAR} < {FAR})')),
        ('a loop', 4, '''
def triplet_error(X, triplets):
    out = [0] * len(X); bad = 0
    for a, b, c in triplets:
        if not np.linalg.norm(X[a] - X[b]) < np.linalg.norm(X[a] - X[c]): bad += 1; out[a] += 1
    return bad / len(triplets), np.array(out)
'''),
        ('a tolerance', 0, error(f'~({NEAR} < {FAR} - 1e-9)')),
        ('nan is zero', 0, error(f'~({NEAR} < {FAR})').replace('    wrong', '    X = np.nan_to_num(X)\n    wrong', 1)),
        ('the share that holds', 0, error(share='1 - wrong.mean()')),
        ('ties are right', 0, error(f'{NEAR} > {FAR}')),
        ('city blocks', 0, error('~(np.abs(X[i] - X[j]).sum(1) < np.abs(X[i] - X[k]).sum(1))')),
        ('the wrong side of the triangle', 0, error(f'~({NEAR} < ((X[j] - X[k])**2).sum(1))')),
        ('first column alone', 0, error('~(np.abs(X[i, 0] - X[j, 0]) < np.abs(X[i, 0] - X[k, 0]))')),
        ('the function of the package', 0, 'from extreme_opt.ordinal import triplet_error'),
    ],
    'answer': [
        ('read off', 3, 'answer_scale = .87'),
        ('one place to the left', 3, 'answer_scale = .85'),
        ('computed', 3, '''
rng = np.random.default_rng(11 + 1000 * VARIANT); share, P = rng.uniform(.04, .3), rng.normal(size=(30, 2))
Q = np.array([rng.choice(30, 3, replace=False) for _ in range(600)])
m = np.array([((P[a] - P[b])**2).sum() - ((P[a] - P[c])**2).sum() for a, b, c in Q]); m = np.where(np.arange(600) < 600 * share, abs(m), -abs(m))
from scipy.optimize import minimize_scalar
answer_scale = minimize_scalar(lambda c: np.logaddexp(0, c * c * m).mean(), bounds=(.2, 3), method='bounded').x
'''),
        ('the map as it is', 0, 'answer_scale = 1.'),
        ('the left end', 0, 'answer_scale = .2'),
        ('left empty', 0, 'answer_scale = None'),
    ],
    'keep': [
        ('argmin', 2, keep()),
        ('a loop', 2, keep(answer='min(range(len(maps)), key=lambda m: price(maps[m]))')),
        ('written out', 2, keep('i, j, k = np.asarray(triplets).T\n        return np.logaddexp(0, ((X[i] - X[j])**2).sum(1) - ((X[i] - X[k])**2).sum(1)).mean() + ridge * (X**2).sum(1).mean()')),
        ('by the hidden answers', 0, keep('return triplet_error(X, hidden)[0]')),
        ('by the share of failures', 0, keep('return triplet_error(X, triplets)[0]')),
        ('ridge forgotten', 0, keep('return loss_and_gradient(X, triplets)[0]')),
        ('ridge not divided by n', 0, keep('return loss_and_gradient(X, triplets)[0] + ridge * (X**2).sum()')),
        ('the map in place of its number', 0, keep(answer='min(maps, key=price)')),
    ],
    'real': [
        ('best of five', 3, real()),
        ('chosen by keep', 3, real(best='(lambda M: M[keep(M, known)])([fit.x.reshape(21, 2) for fit in fits])')),
        ('centered', 3, real(best='min(fits, key=lambda fit: fit.fun).x.reshape(21, 2)\nbest = best - best.mean(0)')),
        ('the shares that hold', 0, real(errors=SHARES.replace('=trip', '=1 - trip'))),
        ('training error twice', 0, real(errors=SHARES.replace('hidden', 'known'))),
        ('the two exchanged', 0, real(errors=SHARES.replace('train', 'tmp').replace('test', 'train').replace('tmp', 'test'))),
        ('percent', 0, real(errors=SHARES.replace('=trip', '=100 * trip'))),
        ('near and far exchanged in the fit', 0, real(fitted='known[:, [0, 2, 1]]')),
        ('a single start', 0, real(starts='starts[1:2]')),
        ('a single start five times', 0, real(starts='[starts[1]] * 5')),
        ('the first start alone', 0, real(starts='starts[:1]')),
        ('ridge forgotten', 0, real(price='0', pull='0')),
        ('ridge forgotten in the gradient', 0, real(pull='0')),
        ('fifty iterations are at most 200', 3, real(steps=50)),
        ('left empty', 0, 'errors = {}'),
    ],
}  # fmt: skip
