"""Answers to problem set 3, right and wrong, for each coding question: (name, earns the marks, source)."""

SLOPES = '''
def triplet_slopes(anchor, near, far):
    u, v = anchor - near, anchor - far
    z = {z}
    s = {share}
    return {anchor}, {near}, {far}
'''


def slopes(
    z='u @ u - v @ v',
    share='math.exp(min(z, 0)) / (1 + math.exp(-abs(z)))',
    anchor='2 * s * (far - near)',
    near='2 * s * (near - anchor)',
    far='2 * s * (anchor - far)',
):
    return SLOPES.format(z=z, share=share, anchor=anchor, near=near, far=far)


LOSS = '''
def loss_and_gradient(X, triplets):
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
    z='(u**2).sum(1) - (v**2).sum(1)',
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
TABLE = '((X[:, None] - X[None])**2).sum(2)[i, j] - ((X[:, None] - X[None])**2).sum(2)[i, k]'
CDIST = '(lambda D: D[i, j] - D[i, k])(__import__("scipy.spatial", fromlist=["x"]).distance.cdist(X, X, "sqeuclidean"))'
WEIGHTS = '''Y, w, A = np.asarray(X), np.asarray(s), np.zeros((len(X), len(X)))
    np.add.at(A, (i, j), w); np.add.at(A, (i, k), -w)
    A = A + A.T; G = A.sum(1)[:, None] * Y - A @ Y'''
SQUARES = '(lambda D: D[i, j] - D[i, k])((X**2).sum(1)[:, None] - 2 * X @ X.T + (X**2).sum(1))'

DIRECTION = '''
def svrg_direction(X, snapshot, full, triplets, batch, gradient_of):
    {body}
'''


def direction(body):
    return DIRECTION.format(body=body)


STEP = '''
def step_size(moved, turned, epsilon, n_inner, previous):
    length = {length}
    {guard}
    below = {below}
    return {answer} if below else math.inf
'''


def step(
    length='np.sum(moved**2)',
    guard='if not moved.any(): return previous',
    below='abs(np.sum(moved * turned)) + epsilon * length',
    answer='length / (n_inner * below)',
):
    return STEP.format(length=length, guard=guard, below=below, answer=answer)


ERROR = '''
def triplet_error(X, triplets):
    i, j, k = np.asarray(triplets).T
    {body}
'''


def error(body):
    return ERROR.format(body=body)


NEAR, FAR = '((X[i] - X[j])**2).sum(1)', '((X[i] - X[k])**2).sum(1)'

REAL = '''
def objective(flat):
    X = flat.reshape(21, -1)
    value, gradient = loss_and_gradient(X, {fitted})
    return value + {price}, (gradient + {pull}).ravel()
fits = [minimize(objective, start.ravel(), jac=True, method='L-BFGS-B', options=dict(maxiter={steps})) for start in {starts}]
best = {best}
errors = {errors}
'''
SHARES = 'dict(objective=objective(best.ravel())[0], train=triplet_error(best, known), test=triplet_error(best, hidden))'


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
        (
            'scipy',
            True,
            slopes(
                share='__import__("scipy.special", fromlist=["expit"]).expit(z)',
                anchor='2 * s * (u - v)',
                near='-2 * s * u',
                far='2 * s * v',
            ),
        ),
        (
            'log domain',
            True,
            slopes(
                z='np.linalg.norm(u)**2 - np.linalg.norm(v)**2',
                share='np.exp(-np.logaddexp(0, -z))',
            ),
        ),
        ('tanh', True, slopes(share='(1 + math.tanh(z / 2)) / 2')),
        ('overflows', False, slopes(share='math.exp(z) / (1 + math.exp(z))')),
        ('overflows the other way', False, slopes(share='1 / (1 + math.exp(-z))')),
        ('near and far exchanged in the share', False, slopes(z='v @ v - u @ u')),
        (
            'factor two forgotten',
            False,
            slopes(anchor='s * (far - near)', near='s * (near - anchor)', far='s * (anchor - far)'),
        ),
        (
            'sign',
            False,
            slopes(
                anchor='2 * s * (near - far)',
                near='2 * s * (anchor - near)',
                far='2 * s * (far - anchor)',
            ),
        ),
        ('anchor moved by the near one alone', False, slopes(anchor='2 * s * (anchor - near)')),
        ('anchor moved by the far one alone', False, slopes(anchor='-2 * s * (anchor - far)')),
        ('sign of the far one', False, slopes(far='-2 * s * (anchor - far)')),
        ('distance for its square', False, slopes(z='np.linalg.norm(u) - np.linalg.norm(v)')),
        ('share forgotten', False, slopes(share='1.')),
        ('share of the absolute value', False, slopes(share='1 / (1 + math.exp(-abs(z)))')),
    ],
    'loss_and_gradient': [
        ('add.at', True, loss()),
        ('a loop over triplets', True, loss(add=LOOP)),
        ('bincount per column', True, loss(add=COUNT)),
        ('norms', True, loss(z='np.einsum("qp,qp->q", u, u) - np.einsum("qp,qp->q", v, v)')),
        ('logarithms', True, loss(share='2 * np.exp(-np.logaddexp(0, -z))')),
        ('a table of all distances', False, loss(z=TABLE)),
        ('a table by scipy', False, loss(z=CDIST)),
        ('a table of plain arrays', False, loss(z=TABLE.replace('X', 'np.asarray(X)'))),
        ('a table of weights', False, loss(add=WEIGHTS)),
        (
            'nan set to zero',
            False,
            loss(share='0 * z').replace(
                '    G =',
                '    with np.errstate(all="ignore"): s = 2 * np.nan_to_num(np.exp(z) / (1 + np.exp(z)))\n    G =',
            ),
        ),
        ('share clipped', False, loss(share='2 / (1 + np.exp(-np.clip(z, -5, 5)))')),
        (
            'every answer once',
            False,
            loss().replace(
                'i, j, k = np.asarray(triplets).T',
                'i, j, k = np.unique(np.asarray(triplets), axis=0).T',
            ),
        ),
        (
            'answers turned in place',
            False,
            loss().replace('    u, v =', '    triplets[:] = triplets[::-1]\n    u, v ='),
        ),
        ('a list of one', False, loss(value='np.array([np.mean(np.logaddexp(0, z))])')),
        ('a table by inner products', False, loss(z=SQUARES)),
        (
            'added once',
            False,
            loss(
                add='G[i] += s[:, None] * (u - v); G[j] -= s[:, None] * u; G[k] += s[:, None] * v'
            ),
        ),
        ('sum for the mean', False, loss(value='np.sum(np.logaddexp(0, z))', gradient='G')),
        ('gradient of the sum', False, loss(gradient='G')),
        ('factor two', False, loss(share=EXPIT)),
        ('near and far exchanged', False, loss(z='(v**2).sum(1) - (u**2).sum(1)')),
        ('anchor forgotten', False, loss(add=ADD.split(';', 1)[1].strip())),
        ('far one forgotten', False, loss(add=';'.join(ADD.split(';')[:2]))),
        ('loss overflows', False, loss(value='np.mean(np.log(1 + np.exp(z)))')),
        ('gradient overflows', False, loss(share='2 * np.exp(z) / (1 + np.exp(z))')),
    ],
    'svrg_direction': [
        (
            'two means',
            True,
            direction(
                'return full + gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch])'
            ),
        ),
        (
            'one by one',
            True,
            direction(
                'return full + np.mean([gradient_of(X, triplets[[q]]) - gradient_of(snapshot, triplets[[q]]) for q in batch], axis=0)'
            ),
        ),
        (
            'a sum divided',
            True,
            direction(
                'v = full.copy()\n    for q in batch: v += (gradient_of(X, triplets[q]) - gradient_of(snapshot, triplets[q])) / len(batch)\n'
                '    return v'
            ),
        ),
        (
            'slopes of one\'s own',
            False,
            direction(
                'f = lambda Z: loss_and_gradient(Z, triplets[batch])[1]\n    return full + f(X) - f(snapshot)'
            ),
        ),
        (
            'slopes of one\'s own at the snapshot',
            False,
            direction(
                'return full + gradient_of(X, triplets[batch]) - loss_and_gradient(snapshot, triplets[batch])[1]'
            ),
        ),
        (
            'all when the batch is large',
            False,
            direction(
                'if 2 * len(batch) >= len(triplets): return gradient_of(X, triplets)\n'
                '    return full + gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch])'
            ),
        ),
        (
            'the first rows',
            False,
            direction(
                'b = np.arange(len(batch))\n    return full + gradient_of(X, triplets[b]) - gradient_of(snapshot, triplets[b])'
            ),
        ),
        (
            'full forgotten',
            False,
            direction(
                'return gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch])'
            ),
        ),
        ('plain SGD', False, direction('return gradient_of(X, triplets[batch])')),
        ('the full gradient', False, direction('return gradient_of(X, triplets)')),
        (
            'sign of the correction',
            False,
            direction(
                'return full - gradient_of(X, triplets[batch]) + gradient_of(snapshot, triplets[batch])'
            ),
        ),
        (
            'snapshot added',
            False,
            direction(
                'return full + gradient_of(X, triplets[batch]) + gradient_of(snapshot, triplets[batch])'
            ),
        ),
        (
            'a sum for the mean',
            False,
            direction(
                'return full + len(batch) * (gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch]))'
            ),
        ),
        (
            'repetitions dropped',
            False,
            direction(
                'b = np.unique(batch)\n    return full + gradient_of(X, triplets[b]) - gradient_of(snapshot, triplets[b])'
            ),
        ),
        (
            'full computed again',
            False,
            direction(
                'return gradient_of(snapshot, triplets) + gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch])'
            ),
        ),
        (
            'divided by the number of triplets',
            False,
            direction(
                'return full + len(batch) / len(triplets) * (gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch]))'
            ),
        ),
        (
            'full changed in place',
            False,
            direction(
                'full += gradient_of(X, triplets[batch]) - gradient_of(snapshot, triplets[batch])\n    return full'
            ),
        ),
    ],
    'step_size': [
        ('sums', True, step()),
        (
            'flat vectors',
            True,
            step(
                length='moved.ravel() @ moved.ravel()',
                guard='if length == 0: return previous',
                below='abs(moved.ravel() @ turned.ravel()) + epsilon * length',
            ),
        ),
        (
            'curvature first',
            True,
            step(
                below='abs(np.vdot(moved, turned)) / length + epsilon', answer='1 / below / n_inner'
            ),
        ),
        (
            'trace',
            True,
            step(below='abs(np.trace(moved.T @ turned)) + epsilon * np.linalg.norm(moved)**2'),
        ),
        ('division by zero is infinite', True, step().replace(' if below else math.inf', '')),
        (
            'previous when the denominator is zero',
            False,
            step().replace(' if below else math.inf', ' if below else previous'),
        ),
        (
            'zero when the denominator is zero',
            False,
            step().replace(' if below else math.inf', ' if below else 0.'),
        ),
        (
            'nothing turned taken for nothing moved',
            False,
            step(guard='if not turned.any(): return previous'),
        ),
        (
            'nothing turned or nothing moved',
            False,
            step(guard='if not turned.any() or not moved.any(): return previous'),
        ),
        (
            'a tiny move taken for none',
            False,
            step(guard='if np.allclose(moved, 0): return previous'),
        ),
        ('a short length taken for none', False, step(guard='if length < 1e-12: return previous')),
        (
            'the larger of two for the sum',
            False,
            step(below='max(abs(np.sum(moved * turned)), epsilon * length)'),
        ),
        (
            'the matrix product summed',
            False,
            step(below='abs((moved.T @ turned).sum()) + epsilon * length'),
        ),
        (
            'move changed in place',
            False,
            step().replace(
                '    length',
                '    moved /= np.linalg.norm(moved) + (not moved.any())\n    length',
                1,
            ),
        ),
        ('no absolute value', False, step(below='np.sum(moved * turned) + epsilon * length')),
        (
            'absolute values inside the sum',
            False,
            step(below='np.sum(np.abs(moved * turned)) + epsilon * length'),
        ),
        ('m forgotten', False, step(answer='length / below')),
        ('multiplied by m', False, step(answer='n_inner * length / below')),
        ('epsilon not scaled', False, step(below='abs(np.sum(moved * turned)) + epsilon')),
        ('epsilon forgotten', False, step(below='abs(np.sum(moved * turned))')),
        (
            'the other Barzilai-Borwein step',
            False,
            step(
                below='np.sum(turned**2) + epsilon * length',
                answer='abs(np.sum(moved * turned)) / below / n_inner',
            ),
        ),
        ('length not squared', False, step(length='np.linalg.norm(moved)')),
        ('nothing moved, nothing caught', False, step(guard='pass')),
        ('zero when nothing moved', False, step(guard='if not moved.any(): return 0.')),
        ('curvature in place of step', False, step(answer='below / length / n_inner')),
    ],
    'triplet_error': [
        ('not less', True, error(f'return float(np.mean(~({NEAR} < {FAR})))')),
        ('one minus the right ones', True, error(f'return 1 - np.mean({NEAR} < {FAR})')),
        (
            'norms',
            True,
            error(
                'return float(np.mean([not np.linalg.norm(X[a] - X[b]) < np.linalg.norm(X[a] - X[c]) for a, b, c in triplets]))'
            ),
        ),
        ('counted', True, error(f'return (len(i) - np.count_nonzero({NEAR} < {FAR})) / len(i)')),
        (
            'columns of an array',
            True,
            'def triplet_error(X, triplets):\n    D = lambda c: np.linalg.norm(X[triplets[:, 0]] - X[triplets[:, c]], axis=1)\n'
            '    return float((~(D(1) < D(2))).mean())',
        ),
        ('a tolerance', False, error(f'return np.mean(~({NEAR} < {FAR} - 1e-9))')),
        (
            'near ties are ties',
            False,
            error(f'return np.mean(~(({NEAR} < {FAR}) & ~np.isclose({NEAR}, {FAR}, rtol=1e-2)))'),
        ),
        (
            'mean of the anchors\' shares',
            False,
            error(
                f'w = ~({NEAR} < {FAR})\n    return np.mean([w[i == t].mean() for t in np.unique(i)])'
            ),
        ),
        (
            'nan is zero',
            False,
            error(f'X = np.nan_to_num(X)\n    return np.mean(~({NEAR} < {FAR}))'),
        ),
        (
            'every answer once',
            False,
            error(
                f'i, j, k = np.unique(np.asarray(triplets), axis=0).T\n    return np.mean(~({NEAR} < {FAR}))'
            ),
        ),
        ('the share that holds', False, error(f'return np.mean({NEAR} < {FAR})')),
        ('ties are right', False, error(f'return np.mean({NEAR} > {FAR})')),
        (
            'ties are half',
            False,
            error(f'return np.mean({NEAR} > {FAR}) + .5 * np.mean({NEAR} == {FAR})'),
        ),
        ('nan is right', False, error(f'return np.mean({NEAR} >= {FAR})')),
        ('near and far exchanged', False, error(f'return np.mean(~({FAR} < {NEAR}))')),
        ('a count', False, error(f'return np.sum(~({NEAR} < {FAR}))')),
        (
            'city blocks',
            False,
            error('return np.mean(~(np.abs(X[i] - X[j]).sum(1) < np.abs(X[i] - X[k]).sum(1)))'),
        ),
        (
            'the wrong side of the triangle',
            False,
            error(f'return np.mean(~({NEAR} < ((X[j] - X[k])**2).sum(1)))'),
        ),
        (
            'first column alone',
            False,
            error('return np.mean(~(np.abs(X[i, 0] - X[j, 0]) < np.abs(X[i, 0] - X[k, 0])))'),
        ),
        (
            'nan left out',
            False,
            error(
                f'a, b = {NEAR}, {FAR}\n    ok = np.isfinite(a + b)\n    return np.mean(~(a < b)[ok])'
            ),
        ),
    ],
    'answer': [
        ('read off', True, 'answer_scale = .65'),
        (
            'the lowest of the slider',
            True,
            'answer_scale = min([.2, .3, .4, .5, .55, .6, .65, .7, .75, .8, .85, .9, .95, 1., 1.1, 1.3, 1.5], key=size_loss)',
        ),
        (
            'searched',
            True,
            'from scipy.optimize import minimize_scalar\nanswer_scale = float(minimize_scalar(size_loss, bounds=(.2, 1.5), method="bounded").x)',
        ),
        ('the map as it is', False, 'answer_scale = 1.'),
        ('the left end', False, 'answer_scale = .2'),
        ('the right end', False, 'answer_scale = 1.5'),
        (
            'the value of F',
            False,
            'answer_scale = round(min(size_loss(c) for c in np.linspace(.1, 1.6, 61)), 2)',
        ),
        ('the scale of squared distances', False, 'answer_scale = .62**2'),
        ('its root', False, 'answer_scale = .62**.5'),
        ('the inverse', False, 'answer_scale = 1 / .62'),
        (
            'where F is as before',
            False,
            'answer_scale = min(np.linspace(.2, .6, 81), key=lambda c: abs(size_loss(c) - size_loss(1.)))',
        ),
        ('one place too far to the right', False, 'answer_scale = .7'),
        ('one place too far to the left', False, 'answer_scale = .55'),
        ('left empty', False, 'answer_scale = None'),
    ],
    'real': [
        ('best of five', True, real()),
        (
            'best kept on the way',
            True,
            real(
                best='sorted((fit.fun, k) for k, fit in enumerate(fits))[0][1]\nbest = fits[best].x.reshape(21, 2)'
            ),
        ),
        (
            'centered',
            True,
            real(
                best='min(fits, key=lambda fit: fit.fun).x.reshape(21, 2)\nbest = best - best.mean(0)'
            ),
        ),
        ('the shares that hold', False, real(errors=SHARES.replace('=trip', '=1 - trip'))),
        (
            'failures and the share that holds',
            False,
            real(errors=SHARES.replace('test=', 'test=1 - ')),
        ),
        ('training error twice', False, real(errors=SHARES.replace('hidden', 'known'))),
        (
            'the two exchanged',
            False,
            real(
                errors=SHARES.replace('train', 'tmp')
                .replace('test', 'train')
                .replace('tmp', 'test')
            ),
        ),
        (
            'counts',
            False,
            real(
                errors=SHARES.replace('known)', 'known) * len(known)').replace(
                    'hidden)', 'hidden) * len(hidden)'
                )
            ),
        ),
        ('percent', False, real(errors=SHARES.replace('=trip', '=100 * trip'))),
        ('near and far exchanged in the fit', False, real(fitted='known[:, [0, 2, 1]]')),
        ('the start, not fitted', False, real(best='starts[0]')),
        ('one dimension', False, real(starts='starts[:, :, :1]')),
        ('the first start alone', False, real(starts='starts[:1]')),
        ('the last start alone', False, real(starts='starts[4:]')),
        (
            'the worst of five',
            False,
            real(best='max(fits, key=lambda fit: fit.fun).x.reshape(21, 2)'),
        ),
        (
            'mean of five',
            False,
            real(
                errors='{k: np.mean([e[k] for e in [dict(objective=f.fun, train=triplet_error(f.x.reshape(21, 2), known), '
                'test=triplet_error(f.x.reshape(21, 2), hidden)) for f in fits]]) for k in ("objective", "train", "test")}'
            ),
        ),
        (
            'the mean of five maps',
            False,
            real(best='np.mean([fit.x for fit in fits], axis=0).reshape(21, 2)'),
        ),
        ('ridge forgotten', False, real(price='0', pull='0')),
        ('ridge forgotten in the gradient', False, real(pull='0')),
        ('ridge not divided by n', False, real(price='ridge * (X**2).sum()', pull='2 * ridge * X')),
        ('ten steps', False, real(steps=10)),
        (
            'loss without the ridge',
            False,
            real(
                errors=SHARES.replace(
                    'objective(best.ravel())[0]', 'loss_and_gradient(best, known)[0]'
                )
            ),
        ),
        ('fitted to all answers', False, real(fitted='np.concatenate([known, hidden])')),
        (
            'ridge a thousand times too large',
            False,
            real(price='(X**2).sum() / 21', pull='2 * X / 21'),
        ),
        ('left empty', False, 'errors = {}'),
    ],
}
