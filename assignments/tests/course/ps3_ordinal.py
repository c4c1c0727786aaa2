"""Answers to problem set 3, right and wrong, for each coding question.

ANSWERS: (name, earns the marks of the first test, source). MORE: (name, points over all tests of the question, source),
written from the student's version alone, and the answers that earn a part.
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
    return {value}, {gradient}
'''
ADD = 'np.add.at(G, i, np.asarray(s[:, None] * (u - v))); np.add.at(G, j, np.asarray(-s[:, None] * u)); np.add.at(G, k, np.asarray(s[:, None] * v))'
EXPIT = 'np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z)))'


def loss(
    z='(u**2).sum(1) - (v**2).sum(1) + margin',
    share='2 * ' + EXPIT,
    add=ADD,
    value='np.mean(np.logaddexp(0, z))',
    gradient='G / len(i)',
):
    return LOSS.format(z=z, share=share, add=add, value=value, gradient=gradient)


LOOP = '''for q in range(len(i)):
        G[i[q]] += s[q] * (u[q] - v[q]); G[j[q]] -= s[q] * u[q]; G[k[q]] += s[q] * v[q]'''
COUNT = '''for c in range(X.shape[1]):
        w = lambda part: np.asarray(s * part[:, c])
        G[:, c] = np.bincount(i, w(u - v), len(X)) - np.bincount(j, w(u), len(X)) + np.bincount(k, w(v), len(X))'''
TABLE = (
    '((X[:, None] - X[None])**2).sum(2)[i, j] - ((X[:, None] - X[None])**2).sum(2)[i, k] + margin'
)
CDIST = '(lambda D: D[i, j] - D[i, k] + margin)(__import__("scipy.spatial", fromlist=["x"]).distance.cdist(X, X, "sqeuclidean"))'
WEIGHTS = '''Y, w, A = np.asarray(X), np.asarray(s), np.zeros((len(X), len(X)))
    np.add.at(A, (i, j), w); np.add.at(A, (i, k), -w)
    A = A + A.T; G = A.sum(1)[:, None] * Y - A @ Y'''
SQUARES = (
    '(lambda D: D[i, j] - D[i, k] + margin)((X**2).sum(1)[:, None] - 2 * X @ X.T + (X**2).sum(1))'
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
    return {share}, {failures}
'''
NEAR, FAR = '((X[i] - X[j])**2).sum(1)', '((X[i] - X[k])**2).sum(1)'


def error(
    wrong=f'~({NEAR} < {FAR})',
    share='float(wrong.mean())',
    failures='np.bincount(i[wrong], minlength=len(X))',
):
    return ERROR.format(wrong=wrong, share=share, failures=failures)


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
        ('differences of points', True, slopes()),
        ('scipy', True, slopes(share='__import__("scipy.special", fromlist=["expit"]).expit(z)', anchor='2 * s * (u - v)', near='-2 * s * u', far='2 * s * v')),
        ('log domain', True, slopes(z='np.linalg.norm(u)**2 - np.linalg.norm(v)**2 + margin', share='np.exp(-np.logaddexp(0, -z))')),
        ('tanh', True, slopes(share='(1 + math.tanh(z / 2)) / 2')),
        ('near and far exchanged in the share', False, slopes(z='v @ v - u @ u + margin')),
        ('factor two forgotten', False, slopes(anchor='s * (far - near)', near='s * (near - anchor)', far='s * (anchor - far)')),
        ('sign', False, slopes(anchor='2 * s * (near - far)', near='2 * s * (anchor - near)', far='2 * s * (far - anchor)')),
        ('anchor moved by the near one alone', False, slopes(anchor='2 * s * (anchor - near)')),
        ('anchor moved by the far one alone', False, slopes(anchor='-2 * s * (anchor - far)')),
        ('sign of the far one', False, slopes(far='-2 * s * (anchor - far)')),
        ('distance for its square', False, slopes(z='np.linalg.norm(u) - np.linalg.norm(v) + margin')),
        ('share forgotten', False, slopes(share='1.')),
        ('share of the absolute value', False, slopes(share='1 / (1 + math.exp(-abs(z)))')),
    ],
    'loss_and_gradient': [
        ('add.at', True, loss()),
        ('a loop over triplets', True, loss(add=LOOP)),
        ('bincount per column', True, loss(add=COUNT)),
        ('norms', True, loss(z='np.einsum("qp,qp->q", u, u) - np.einsum("qp,qp->q", v, v) + margin')),
        ('logarithms', True, loss(share='2 * np.exp(-np.logaddexp(0, -z))')),
        (
            'nan set to zero',
            False,
            loss(share='0 * z').replace(
                '    G =',
                '    with np.errstate(all="ignore"): s = 2 * np.nan_to_num(np.exp(z) / (1 + np.exp(z)))\n    G =',
            ),
        ),
        ('share clipped', False, loss(share='2 / (1 + np.exp(-np.clip(z, -5, 5)))')),
        ('every answer once', False, loss().replace('i, j, k = np.asarray(triplets).T', 'i, j, k = np.unique(np.asarray(triplets), axis=0).T')),
        ('answers turned in place', False, loss().replace('    u, v =', '    triplets[:] = triplets[::-1]\n    u, v =')),
        ('a list of one', False, loss(value='np.array([np.mean(np.logaddexp(0, z))])')),
        ('added once', False, loss(add='G[i] += s[:, None] * (u - v); G[j] -= s[:, None] * u; G[k] += s[:, None] * v')),
        ('sum for the mean', False, loss(value='np.sum(np.logaddexp(0, z))', gradient='G')),
        ('gradient of the sum', False, loss(gradient='G')),
        ('factor two', False, loss(share=EXPIT)),
        ('near and far exchanged', False, loss(z='(v**2).sum(1) - (u**2).sum(1) + margin')),
        ('anchor forgotten', False, loss(add=ADD.split(';', 1)[1].strip())),
        ('far one forgotten', False, loss(add=';'.join(ADD.split(';')[:2]))),
        ('loss overflows', False, loss(value='np.mean(np.log(1 + np.exp(z)))')),
        ('gradient overflows', False, loss(share='2 * np.exp(z) / (1 + np.exp(z))')),
    ],
    'svrg_direction': [
        ('one by one', True, direction()),
        ('differences of weighted gradients', True, direction('f(X, q) / p[q] - f(snapshot, q) / p[q]', after='/ (N * B)')),
        ('counted draws', True, '''
def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):
    v = np.array(full)
    for q, times in zip(*np.unique(batch, return_counts=True)):
        one = triplets[q][None]
        v += times / (len(batch) * len(triplets) * p[q]) * (gradient_of(X, one) - gradient_of(snapshot, one))
    return v
'''),
        ('the direction of the lesson', False, direction('f(X, q) - f(snapshot, q)')),
        ('weights p in place of 1 / (N p)', False, direction('(f(X, q) - f(snapshot, q)) * p[q]')),
        ('N forgotten', False, direction('(f(X, q) - f(snapshot, q)) / p[q]')),
        ('weights on X alone', False, direction('f(X, q) / (N * p[q]) - f(snapshot, q)')),
        ('weights on the snapshot alone', False, direction('f(X, q) - f(snapshot, q) / (N * p[q])')),
        ('full forgotten', False, direction(start='0')),
        ('plain SGD', False, direction('f(X, q) / (N * p[q])', start='0')),
        ('the full gradient', False, 'def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of): return gradient_of(X, triplets)'),
        ('sign of the correction', False, direction('(f(snapshot, q) - f(X, q)) / (N * p[q])')),
        ('a sum for the mean', False, direction(after='')),
        ('repetitions dropped', False, direction(rows='np.unique(batch)')),
        ('repetitions dropped, mean over what is left', False, direction(rows='np.unique(batch)', after='/ len(np.unique(batch))')),
        ('weights set to have mean one in the batch', False, direction('(f(X, q) - f(snapshot, q)) / p[q]', after='/ sum(1 / p[q] for q in batch)')),
        ('the first rows', False, direction(rows='range(B)')),
        ('full computed again', False, direction(start='gradient_of(snapshot, triplets)')),
        ('gradients of its own', False, direction('(loss_and_gradient(X, triplets[[q]])[1] - loss_and_gradient(snapshot, triplets[[q]])[1]) / (N * p[q])')),
        ('full changed in place', False, '''
def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):
    for q in batch: full += (gradient_of(X, triplets[[q]]) - gradient_of(snapshot, triplets[[q]])) / (len(triplets) * p[q] * len(batch))
    return full
'''),
    ],
    'step_size': [
        ('vectorized', True, step()),
        ('row by row', True, '''
def step_sizes(moved, turned, epsilon, n_inner, previous):
    out = []
    for d, t, old in zip(moved, turned, previous):
        if not d.any(): out.append(old); continue
        below = abs(d @ t) + epsilon * (d @ d)
        out.append((d @ d) / below / n_inner if below else np.inf)
    return np.array(out)
'''),
        ('curvature first', True, step(below='np.abs((moved * turned).sum(1)) / np.where(length > 0, length, 1) + epsilon', eta='1 / below / n_inner')),
        ('einsum', True, step(below='np.abs(np.einsum("ip,ip->i", moved, turned)) + epsilon * np.einsum("ip,ip->i", moved, moved)')),
        ('one step for the whole map', False, step(length='np.full(len(moved), (moved**2).sum())', below='abs((moved * turned).sum()) + epsilon * length')),
        ('previous when the denominator is zero', False, step(still='below == 0')),
        ('zero when the denominator is zero', False, step(answer='np.where(still, previous, np.where(below > 0, eta, 0.))')),
        ('nothing turned taken for nothing moved', False, step(still='~turned.any(axis=1)')),
        ('nothing turned or nothing moved', False, step(still='~turned.any(axis=1) | ~moved.any(axis=1)')),
        ('a tiny move taken for none', False, step(still='np.isclose(moved, 0).all(axis=1)')),
        ('the larger of two for the sum', False, step(below='np.maximum(np.abs((moved * turned).sum(1)), epsilon * length)')),
        ('no absolute value', False, step(below='(moved * turned).sum(1) + epsilon * length')),
        ('absolute values inside the sum', False, step(below='np.abs(moved * turned).sum(1) + epsilon * length')),
        ('m forgotten', False, step(eta='length / below')),
        ('multiplied by m', False, step(eta='n_inner * length / below')),
        ('epsilon not scaled', False, step(below='np.abs((moved * turned).sum(1)) + epsilon')),
        ('epsilon forgotten', False, step(below='np.abs((moved * turned).sum(1))')),
        ('the other Barzilai-Borwein step', False, step(below='(turned**2).sum(1) + epsilon * length', eta='np.abs((moved * turned).sum(1)) / below / n_inner')),
        ('length not squared', False, step(length='np.linalg.norm(moved, axis=1)')),
        ('one for an object that did not move', False, step(answer='np.where(still, 1., eta)')),
        ('the first step before for all', False, step(answer='np.where(still, previous[0], eta)')),
        ('nothing moved, nothing caught', False, step(answer='eta')),
        ('previous changed in place', False, step(answer='previous.__setitem__(~still, eta[~still]) or previous')),
        ('columns for rows', False, step(length='(moved**2).sum(0)', below='np.abs((moved * turned).sum(0)) + epsilon * length', still='~moved.any(axis=0)', answer='eta')),
    ],
    'triplet_error': [
        ('not less', True, error()),
        ('one minus the right ones', True, error(share=f'1 - np.mean({NEAR} < {FAR})')),
        ('a loop', True, '''
def triplet_error(X, triplets):
    out = [0] * len(X); bad = 0
    for a, b, c in triplets:
        if not np.linalg.norm(X[a] - X[b]) < np.linalg.norm(X[a] - X[c]): bad += 1; out[a] += 1
    return bad / len(triplets), np.array(out)
'''),
        ('np.add.at', True, error(failures='(lambda out: (np.add.at(out, i, wrong.astype(int)), out)[1])(np.zeros(len(X), int))')),
        ('a tolerance', False, error(f'~({NEAR} < {FAR} - 1e-9)')),
        ('near ties are ties', False, error(f'~(({NEAR} < {FAR}) & ~np.isclose({NEAR}, {FAR}, rtol=1e-2))')),
        ('nan is zero', False, error(f'~({NEAR} < {FAR})').replace('    wrong', '    X = np.nan_to_num(X)\n    wrong', 1)),
        ('the share that holds', False, error(share='1 - wrong.mean()')),
        ('ties are right', False, error(f'{NEAR} > {FAR}')),
        ('nan is right', False, error(f'{NEAR} >= {FAR}')),
        ('near and far exchanged', False, error(f'~({FAR} < {NEAR})')),
        ('a count', False, error(share='wrong.sum()')),
        ('city blocks', False, error('~(np.abs(X[i] - X[j]).sum(1) < np.abs(X[i] - X[k]).sum(1))')),
        ('the wrong side of the triangle', False, error(f'~({NEAR} < ((X[j] - X[k])**2).sum(1))')),
        ('first column alone', False, error('~(np.abs(X[i, 0] - X[j, 0]) < np.abs(X[i, 0] - X[k, 0]))')),
        ('failures by the near one', False, error(failures='np.bincount(j[wrong], minlength=len(X))')),
        ('failures in any place', False, error(failures='np.bincount(np.asarray(triplets)[wrong].ravel(), minlength=len(X))')),
        ('questions in place of failures', False, error(failures='np.bincount(i, minlength=len(X))')),
        ('objects without a failure left out', False, error(failures='np.unique(i[wrong], return_counts=True)[1]')),
        ('as many as there are anchors', False, error(failures='np.bincount(i[wrong])')),
        ('shares in place of counts', False, error(failures='np.bincount(i[wrong], minlength=len(X)) / len(i)')),
    ],
    'answer': [
        ('read off', True, 'answer_scale = .87'),
        ('one place to the left', True, 'answer_scale = .85'),
        ('computed', True, '''
rng = np.random.default_rng(11 + 1000 * VARIANT); share, P = rng.uniform(.04, .3), rng.normal(size=(30, 2))
Q = np.array([rng.choice(30, 3, replace=False) for _ in range(600)])
m = np.array([((P[a] - P[b])**2).sum() - ((P[a] - P[c])**2).sum() for a, b, c in Q]); m = np.where(np.arange(600) < 600 * share, abs(m), -abs(m))
from scipy.optimize import minimize_scalar
answer_scale = minimize_scalar(lambda c: np.logaddexp(0, c * c * m).mean(), bounds=(.2, 3), method='bounded').x
'''),
        ('the map as it is', False, 'answer_scale = 1.'),
        ('the left end', False, 'answer_scale = .2'),
        ('the right end', False, 'answer_scale = 3.'),
        ('the scale of squared distances', False, 'answer_scale = .87**2'),
        ('its root', False, 'answer_scale = .87**.5'),
        ('the inverse', False, 'answer_scale = 1 / .87'),
        ('the constant of another class', False, 'answer_scale = .62'),
        ('two places too far to the right', False, 'answer_scale = .96'),
        ('two places too far to the left', False, 'answer_scale = .77'),
        ('left empty', False, 'answer_scale = None'),
    ],
    'keep': [
        ('argmin', True, keep()),
        ('a loop', True, keep(answer='min(range(len(maps)), key=lambda m: price(maps[m]))')),
        ('written out', True, keep('i, j, k = np.asarray(triplets).T\n        return np.logaddexp(0, ((X[i] - X[j])**2).sum(1) - ((X[i] - X[k])**2).sum(1)).mean() + ridge * (X**2).sum(1).mean()')),
        ('by the hidden answers', False, keep('return triplet_error(X, hidden)[0]')),
        ('by the loss of the hidden answers', False, keep('return loss_and_gradient(X, hidden)[0] + ridge * (X**2).sum() / len(X)')),
        ('by the share of failures', False, keep('return triplet_error(X, triplets)[0]')),
        ('by all known answers', False, keep('return loss_and_gradient(X, known)[0]')),
        ('ridge forgotten', False, keep('return loss_and_gradient(X, triplets)[0]')),
        ('ridge not divided by n', False, keep('return loss_and_gradient(X, triplets)[0] + ridge * (X**2).sum()')),
        ('the worst', False, keep(answer='int(np.argmax([price(X) for X in maps]))')),
        ('the first', False, keep(answer='0')),
        ('the map in place of its number', False, keep(answer='min(maps, key=price)')),
        ('always the second', False, keep(answer='1')),
    ],
    'real': [
        ('best of five', True, real()),
        ('chosen by keep', True, real(best='(lambda M: M[keep(M, known)])([fit.x.reshape(21, 2) for fit in fits])')),
        ('centered', True, real(best='min(fits, key=lambda fit: fit.fun).x.reshape(21, 2)\nbest = best - best.mean(0)')),
        ('the shares that hold', False, real(errors=SHARES.replace('=trip', '=1 - trip'))),
        ('training error twice', False, real(errors=SHARES.replace('hidden', 'known'))),
        ('the two exchanged', False, real(errors=SHARES.replace('train', 'tmp').replace('test', 'train').replace('tmp', 'test'))),
        ('percent', False, real(errors=SHARES.replace('=trip', '=100 * trip'))),
        ('near and far exchanged in the fit', False, real(fitted='known[:, [0, 2, 1]]')),
        ('the start, not fitted', False, real(best='starts[0]')),
        ('one dimension', False, real(starts='starts[:, :, :1]')),
        ('a single start', False, real(starts='starts[1:2]')),
        ('a single start five times', False, real(starts='[starts[1]] * 5')),
        ('the first start alone', False, real(starts='starts[:1]')),
        ('the worst of five', False, real(best='max(fits, key=lambda fit: fit.fun).x.reshape(21, 2)')),
        ('the mean of five maps', False, real(best='np.mean([fit.x for fit in fits], axis=0).reshape(21, 2)')),
        ('ridge forgotten', False, real(price='0', pull='0')),
        ('ridge forgotten in the gradient', False, real(pull='0')),
        ('ridge not divided by n', False, real(price='ridge * (X**2).sum()', pull='2 * ridge * X')),
        ('ten iterations', False, real(steps=10)),
        ('fifty iterations are at most 200', True, real(steps=50)),
        ('loss without the ridge', False, real(errors=SHARES.replace('fit.fun', 'loss_and_gradient(fit.x.reshape(21, 2), known)[0]'))),
        ('fitted to all answers', False, real(fitted='np.concatenate([known, hidden])')),
        ('left empty', False, 'errors = {}'),
    ],
}  # fmt: skip

BRANCHES = 'float(np.where(z >= 0, 1 / (1 + np.exp(-z)), np.exp(z) / (1 + np.exp(z))))'
MORE = {
    'triplet_slopes': [
        ('stable by np.where, warnings and all', 6, slopes(share='np.where(z >= 0, 1 / (1 + np.exp(-z)), np.exp(np.minimum(z, 0)) / (1 + np.exp(np.minimum(z, 0))))')),
        ('np.where with both branches overflowing', 6, slopes(share='np.where(z >= 0, 1 / (1 + np.exp(-z)), np.exp(z) / (1 + np.exp(z)))')),
        ('overflows', 4, slopes(share='math.exp(z) / (1 + math.exp(z))')),
        ('overflows the other way', 4, slopes(share='1 / (1 + math.exp(-z))')),
        ('numpy, one branch: infinity is harmless', 6, slopes(share='1 / (1 + np.exp(-z))')),
        ('a clipped share', 4, slopes(share='1 / (1 + math.exp(-max(min(z, 5), -5)))').replace('z = u @', 'z = u @')),
        ('the lesson, without a margin', 0, slopes(z='u @ u - v @ v')),
    ],
    'loss_and_gradient': [
        ('np.where with both branches overflowing', 6, loss(share='2 * np.where(z >= 0, 1 / (1 + np.exp(-z)), np.exp(z) / (1 + np.exp(z)))')),
        ('expit and a sparse matrix', 6, '''
def loss_and_gradient(X, triplets, margin=0.):
    from scipy.sparse import csr_array
    from scipy.special import expit
    i, j, k = np.asarray(triplets).T; N = len(i); rows = np.arange(N)
    u, v = X[i] - X[j], X[i] - X[k]; z = (u * u).sum(1) - (v * v).sum(1) + margin; s = 2 * expit(z)[:, None] / N
    C = lambda c: csr_array((np.ones(N), (c, rows)), shape=(len(X), N))
    return np.logaddexp(z, 0).mean(), C(i) @ (s * (u - v)) - C(j) @ (s * u) + C(k) @ (s * v)
'''),
        ('triplet by triplet, its own function', 6, slopes() + '''
def loss_and_gradient(X, triplets, margin=0.):
    G = np.zeros(X.shape); total = 0.
    for i, j, k in triplets:
        parts = triplet_slopes(X[i], X[j], X[k], margin)
        for row, part in zip((i, j, k), parts): G[row] += part
        z = ((X[i] - X[j])**2).sum() - ((X[i] - X[k])**2).sum() + margin
        total += max(z, 0) + math.log1p(math.exp(-abs(z)))
    return total / len(triplets), G / len(triplets)
'''),
        ('a table of all distances', 4, loss(z=TABLE)),
        ('a table by scipy', 4, loss(z=CDIST)),
        ('a table of weights', 4, loss(add=WEIGHTS)),
        ('a table by inner products', 4, loss(z=SQUARES)),
        ('a table of plain arrays', 4, loss(z=TABLE.replace('X', 'np.asarray(X)'))),
        ('all pairs, row by row, after np.asarray', 4, loss().replace('    G =', '    Y = np.asarray(X)\n    for row in range(len(Y)): ((Y - Y[row])**2).sum(1)\n    G =')),
        ('all pairs by a double loop of Python', 4, loss().replace('    G =', '    for one in X:\n        for other in X: one[0] - other[0]\n    G =')),
        ('all pairs in blocks of ten rows', 4, loss().replace('    G =', '    for row in range(0, len(X), 10): ((X[row:row + 10, None] - X[None])**2).sum(2)\n    G =')),
        ('mean over distinct answers', 0, loss(value='np.mean(np.logaddexp(0, np.unique(z)))')),
    ],
    'svrg_direction': [
        ('one call of all drawn, weighted afterwards', 0, '''
def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):
    w = np.mean(1 / (len(triplets) * p[batch]))
    return full + w * (gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch]))
'''),
        ('a single triplet as a row', 5, '''
def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):
    pieces = [(gradient_of(X, triplets[q]) - gradient_of(snapshot, triplets[q])) / p[q] for q in batch]
    return full + np.mean(pieces, axis=0) / p.size
'''),
    ],
    'step_size': [
        ('masked division', 5, '''
def step_sizes(moved, turned, epsilon, n_inner, previous):
    xx, xy = np.square(moved).sum(-1), (moved * turned).sum(-1)
    den = n_inner * (abs(xy) + epsilon * xx); out = np.full(len(moved), np.inf)
    np.divide(xx, den, out=out, where=den > 0)
    idle = (moved == 0).all(-1); out[idle] = np.asarray(previous)[idle]
    return out
'''),
        ('nan replaced by the step before', 5, '''
def step_sizes(moved, turned, epsilon, n_inner, previous):
    xx = np.linalg.norm(moved, axis=1)**2
    eta = xx / n_inner / (np.abs(np.sum(moved * turned, 1)) + epsilon * xx)
    return np.where(np.isnan(eta), previous, eta)
'''),
    ],
    'triplet_error': [
        ('the function of the package', 0, 'from extreme_opt.ordinal import triplet_error'),
        ('norms and a counter', 4, '''
def triplet_error(X, triplets):
    from collections import Counter
    bad = [int(t[0]) for t in triplets if not math.dist(X[t[0]], X[t[1]]) < math.dist(X[t[0]], X[t[2]])]
    count = Counter(bad)
    return len(bad) / len(triplets), np.array([count[n] for n in range(len(X))])
'''),
    ],
}  # fmt: skip
