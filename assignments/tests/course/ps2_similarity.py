"""Answers to problem set 2, right and wrong, for each coding question.

ANSWERS: (name, earns the marks of the first test, source). MORE: (name, points over all tests of the question, source),
written from the student's version alone, and the answers that earn a part.
"""

LOSS = '''
def loss(P, Q, pairs, omega, r):
    i, j = pairs
    s = {scores}
    seen = {seen}
    unseen = {unseen}
    return float(seen + {half} * unseen)
'''
UNSEEN = 'len(Q) * (omega @ r**2) - 2 * ((omega * r) @ P @ Q.sum(0)) + np.sum(((omega[:, None] * P).T @ P) * (Q.T @ Q))'


def loss(
    scores='(P[i] * Q[j]).sum(1)', seen='np.logaddexp(0, -s).sum()', unseen=UNSEEN, half='1 / 2'
):
    return LOSS.format(scores=scores, seen=seen, unseen=unseen, half=half)


GRADIENT = '''
def gradient(P, Q, pairs, omega, r):
    P, Q = {given}
    i, j = pairs
    s = (P[i] * Q[j]).sum(1)
    c = {slope}
    left = {left}
    right = {right}
    {add}
    return left, right
'''
ADD = 'np.add.at(left, i, c[:, None] * Q[j]); np.add.at(right, j, c[:, None] * P[i])'
SPARSE = '''from scipy.sparse import coo_array
    C = coo_array((np.asarray(c), (i, j)), shape=(len(P), len(Q))).tocsr()
    left += C @ np.asarray(Q); right += C.T @ np.asarray(P)'''
TABLE = '''C = np.zeros((len(P), len(Q))); np.add.at(C, (i, j), np.asarray(c))
    left += C @ np.asarray(Q); right += C.T @ np.asarray(P)'''
LOOP = '''for t in range(len(i)):
        left[i[t]] += c[t] * Q[j[t]]; right[j[t]] += c[t] * P[i[t]]'''


def gradient(
    slope='-1 / (1 + np.exp(np.minimum(s, 700)))',
    left='omega[:, None] * (P @ (Q.T @ Q) - r[:, None] * Q.sum(0))',
    right='Q @ (P.T @ (omega[:, None] * P)) - (omega * r) @ P',
    add=ADD,
    given='P, Q',
):
    return GRADIENT.format(slope=slope, left=left, right=right, add=add, given=given)


PRODUCT = '''
def product(P, Q, pairs, omega, D, E):
    i, j = pairs
    s = (P[i] * Q[j]).sum(1)
    h = {bend}
    c = h * ({change})
    left = {left}
    right = {right}
    np.add.at(left, i, c[:, None] * Q[j]); np.add.at(right, j, c[:, None] * P[i])
    return left, right
'''


def product(
    bend='np.exp(-np.abs(s)) / (1 + np.exp(-np.abs(s)))**2',
    change='(D[i] * Q[j]).sum(1) + (P[i] * E[j]).sum(1)',
    left='omega[:, None] * (D @ (Q.T @ Q) + P @ (E.T @ Q))',
    right='Q @ (D.T @ (omega[:, None] * P)) + E @ (P.T @ (omega[:, None] * P))',
):
    return PRODUCT.format(bend=bend, change=change, left=left, right=right)


PRODUCT_ADD = 'np.add.at(left, i, c[:, None] * Q[j]); np.add.at(right, j, c[:, None] * P[i])'
ONCE = '''from scipy.sparse import lil_array
    C = lil_array((len(P), len(Q))); C[i, j] = np.asarray(c); C = C.tocsr()
    left += C @ np.asarray(Q); right += C.T @ np.asarray(P)'''

CHOSEN = 'def chosen_estimate(P, Q, i, j, r, chances):\n    return {}\n'
OBSERVED = '''
def observed_estimate(P, Q, pairs, one, two, r):
    i, j, n = pairs[0][one], pairs[1][two], len(pairs[0])
    return {}
'''
AS_DERIVED = 'n**2 / np.sum(pairs[0] == i) / np.sum(pairs[1] == j) * (r - P[i] @ Q[j])**2'


REAL = '''
cut, where, link, omega, fill, size = P0.size, {where}, {links}, {weight}, {imputed}, {ridge}
def halves(theta): return theta[:cut].reshape(P0.shape), theta[cut:].reshape(Q0.shape)
def value(theta): return loss(*halves(theta), link, omega, fill) + size / 2 * (theta @ theta)
def slope(theta): return np.concatenate([part.ravel() for part in gradient(*halves(theta), link, omega, fill)]) + size * theta
P, Q = halves(minimize(value, where, jac=slope, method='L-BFGS-B', options=dict(maxiter={steps})).x)
S = P @ Q.T
{hide}
recall = {share}
'''
RANKS = 'float(np.mean([(S[i] > S[i, j]).sum() < 20 for i, j in hidden]))'


def real(
    where='np.r_[P0.ravel(), Q0.ravel()]',
    links='(known[:, 0], known[:, 1])',
    weight='weight',
    imputed='imputed',
    ridge='ridge',
    steps=30,
    hide='S[known[:, 0], known[:, 1]] = -np.inf',
    share=RANKS,
):
    return REAL.format(
        where=where,
        links=links,
        weight=weight,
        imputed=imputed,
        ridge=ridge,
        steps=steps,
        hide=hide,
        share=share,
    )


ANSWERS = {
    'loss': [
        ('three terms', True, loss()),
        (
            'stacked columns',
            True,
            loss(
                unseen='np.sum(((omega[:, None] * np.c_[P, r]).T @ np.c_[P, r]) * '
                '(np.c_[Q, -np.ones(len(Q))].T @ np.c_[Q, -np.ones(len(Q))]))'
            ),
        ),
        (
            'trace and einsum',
            True,
            loss(
                scores="np.einsum('tk,tk->t', P[i], Q[j])",
                unseen=UNSEEN.replace(
                    'np.sum(((omega[:, None] * P).T @ P) * (Q.T @ Q))',
                    'np.trace(((omega[:, None] * P).T @ P) @ (Q.T @ Q))',
                ),
            ),
        ),
        ('log of the logistic function', True, loss(seen='-__import__("scipy.special", fromlist=["x"]).log_expit(np.asarray(s)).sum()')),
        (
            'Gramians by einsum',
            True,
            loss(
                unseen=UNSEEN.replace(
                    'np.sum(((omega[:, None] * P).T @ P) * (Q.T @ Q))',
                    "np.vdot(np.einsum('i,ik,il->kl', omega, P, P), np.einsum('jk,jl->kl', Q, Q))",
                )
            ),
        ),
        ('all pairs', False, loss(unseen='omega @ ((r[:, None] - P @ Q.T)**2).sum(1)')),
        ('all pairs as plain arrays', False, loss(unseen='omega @ ((r[:, None] - np.asarray(P) @ np.asarray(Q).T)**2).sum(1)')),
        (
            'all pairs in one einsum',
            False,
            loss(
                unseen=UNSEEN.replace(
                    'np.sum(((omega[:, None] * P).T @ P) * (Q.T @ Q))',
                    "np.einsum('i,ik,jk,il,jl->', omega, P, Q, P, Q)",
                )
            ),
        ),
        ('row by row', False, loss(unseen='sum(omega[a] * ((r[a] - Q @ P[a])**2).sum() for a in range(len(P)))')),
        ('score clipped', False, loss(seen='np.log(1 + np.exp(np.minimum(-s, 700))).sum()')),
        ('a floor in the logarithm', False, loss(seen='-np.log(1 / (1 + np.exp(-s)) + 1e-12).sum()')),
        ('every pair once', False, loss().replace('i, j = pairs', 'i, j = np.unique(np.array(pairs), axis=1)')),
        ('observed pairs taken out', False, loss(unseen=UNSEEN + ' - (omega[i] * (r[i] - s)**2).sum()')),
        ('a rescaled argument', False, loss().replace('i, j = pairs', 'i, j = pairs; P *= 1 + 1e-12')),
        ('sign of the cross term', False, loss(unseen=UNSEEN.replace('- 2', '+ 2'))),
        ('cross term halved', False, loss(unseen=UNSEEN.replace('- 2 *', '-'))),
        ('half forgotten', False, loss(half='1')),
        ('omega forgotten', False, loss(unseen=UNSEEN.replace('omega', '(1 + 0 * omega)'))),
        ('the weights on both sides of the Gramian', False, loss(unseen=UNSEEN.replace('(omega[:, None] * P).T @ P', '(omega[:, None] * P).T @ (omega[:, None] * P)'))),
        ('weights forgotten in the cross term', False, loss(unseen=UNSEEN.replace('(omega * r) @ P', 'r @ P'))),
        ('means in the place of weights and imputed values', False, loss(unseen='omega.mean() * (len(P) * len(Q) * r.mean()**2 - 2 * r.mean() * (P.sum(0) @ Q.sum(0)) + np.sum((P.T @ P) * (Q.T @ Q)))')),
        ('sign of the score', False, loss(seen='np.logaddexp(0, s).sum()')),
        ('mean of the observed pairs', False, loss(seen='np.logaddexp(0, -s).mean()')),
        ('r not squared', False, loss(unseen=UNSEEN.replace('r**2', 'r'))),
        ('overflows', False, loss(seen='np.log(1 + np.exp(-s)).sum()')),
        ('Gramians multiplied without a trace', False, loss(unseen=UNSEEN.replace('.T @ P) * (Q.T @ Q)', '.T @ P) @ (Q.T @ Q)'))),
    ],
    'gradient': [
        ('add.at', True, gradient()),
        ('a sparse matrix', True, gradient(add=SPARSE)),
        ('a loop over observed pairs', True, gradient(add=LOOP)),
        ('expit', True, gradient(slope='-__import__("scipy.special", fromlist=["x"]).expit(-np.asarray(s))')),
        ('a table of slopes', False, gradient(add=TABLE)),
        (
            'all pairs in one einsum',
            False,
            gradient(
                left="omega[:, None] * (np.einsum('ik,jk,jl->il', P, Q, Q) - r[:, None] * Q.sum(0))",
                right="np.einsum('jk,ik,il->jl', Q, P, omega[:, None] * P) - (omega * r) @ P",
            ),
        ),
        ('nan set to zero', False, gradient(slope='-np.nan_to_num(np.exp(-s) / (1 + np.exp(-s)))')),
        ('mean of the observed pairs', False, gradient(slope='-1 / (1 + np.exp(np.minimum(s, 700))) / len(s)')),
        ('second side from the first', False, gradient(add=ADD.replace('c[:, None] * P[i]', 'c[:, None] * left[i]'))),
        ('a rescaled argument', False, gradient().replace('    i, j = pairs', '    i, j = pairs; P *= 1 + 1e-12')),
        ('all pairs', False, gradient(left='omega[:, None] * ((P @ Q.T - r[:, None]) @ Q)', right='(P @ Q.T - r[:, None]).T @ (omega[:, None] * P)')),
        ('added once', False, gradient(add='left[i] += c[:, None] * Q[j]; right[j] += c[:, None] * P[i]')),
        ('sign of the observed part', False, gradient(slope='1 / (1 + np.exp(np.minimum(s, 700)))')),
        ('sign inside the logistic', False, gradient(slope='-1 / (1 + np.exp(-np.maximum(s, -700)))')),
        ('imputed value forgotten', False, gradient(left='omega[:, None] * (P @ (Q.T @ Q))', right='Q @ (P.T @ (omega[:, None] * P))')),
        ('sides swapped', False, gradient(left='omega[:, None] * (P @ (P.T @ P) - r[:, None] * Q.sum(0))')),
        ('omega forgotten', False, gradient(left='P @ (Q.T @ Q) - r[:, None] * Q.sum(0)', right='Q @ (P.T @ P) - r @ P')),
        (
            'factor two',
            False,
            gradient(
                left='2 * omega[:, None] * (P @ (Q.T @ Q) - r[:, None] * Q.sum(0))',
                right='2 * Q @ (P.T @ (omega[:, None] * P)) - 2 * (omega * r) @ P',
            ),
        ),
        ('own column sum', False, gradient(left='omega[:, None] * (P @ (Q.T @ Q) - r[:, None] * P.sum(0))')),
        ('weights forgotten on the right', False, gradient(right='Q @ (P.T @ P) - r @ P')),
        ('the mean weight on the right', False, gradient(right='omega.mean() * (Q @ (P.T @ P) - r @ P)')),
        ('right side as a mirror image', False, gradient(right='omega.mean() * (Q @ (P.T @ P) - r.mean() * P.sum(0))')),
    ],
    'product': [
        ('two Gramians and two cross terms', True, product()),
        ('logistic written out', True, product(bend='1 / (1 + np.exp(-s)) * (1 - 1 / (1 + np.exp(-s)))')),
        ('other order', True, product(left='(omega[:, None] * D) @ (Q.T @ Q) + (omega[:, None] * P) @ (E.T @ Q)')),
        ('a sparse matrix', True, product().replace(PRODUCT_ADD, SPARSE)),
        ('overflows', False, product(bend='np.exp(-s) / (1 + np.exp(-s))**2')),
        ('added once', False, product().replace(PRODUCT_ADD, 'left[i] += c[:, None] * Q[j]; right[j] += c[:, None] * P[i]')),
        ('every pair once', False, product().replace(PRODUCT_ADD, ONCE)),
        (
            'W formed of plain arrays',
            False,
            product(
                left='omega[:, None] * ((np.asarray(D) @ np.asarray(Q).T + np.asarray(P) @ np.asarray(E).T) @ np.asarray(Q))',
                right='(np.asarray(D) @ np.asarray(Q).T + np.asarray(P) @ np.asarray(E).T).T @ (omega[:, None] * np.asarray(P))',
            ),
        ),
        (
            'the mean of the weights',
            False,
            product(
                left='omega.mean() * (D @ (Q.T @ Q) + P @ (E.T @ Q))',
                right='omega.mean() * (Q @ (D.T @ P) + E @ (P.T @ P))',
            ),
        ),
        (
            'the whole Hessian',
            False,
            product().replace(
                '    return left',
                '    g = -1 / (1 + np.exp(s)); np.add.at(left, i, g[:, None] * E[j]); '
                'np.add.at(right, j, g[:, None] * D[i])\n    return left',
            ),
        ),
        ('a rescaled argument', False, product().replace('    i, j = pairs', '    i, j = pairs; D *= 1 + 1e-12')),
        ('W formed', False, product(left='omega[:, None] * ((D @ Q.T + P @ E.T) @ Q)', right='(D @ Q.T + P @ E.T).T @ (omega[:, None] * P)')),
        ('cross terms forgotten', False, product(left='omega[:, None] * (D @ (Q.T @ Q))', right='E @ (P.T @ (omega[:, None] * P))')),
        ('half of the change', False, product(change='(D[i] * Q[j]).sum(1)')),
        ('curvature of the wrong sign', False, product(bend='-np.exp(-s) / (1 + np.exp(-s))**2')),
        ('slope in place of curvature', False, product(bend='1 / (1 + np.exp(-s))')),
        ('omega forgotten', False, product(left='D @ (Q.T @ Q) + P @ (E.T @ Q)', right='Q @ (D.T @ P) + E @ (P.T @ P)')),
        ('transpose', False, product(left='omega[:, None] * (D @ (Q.T @ Q) + P @ (Q.T @ E))')),
        ('sides of the cross term', False, product(right='Q @ ((omega[:, None] * P).T @ D) + E @ (P.T @ (omega[:, None] * P))')),
        ('observed only', False, product(left='0 * P', right='0 * Q')),
        ('weights forgotten in one Gramian', False, product(right='Q @ (D.T @ (omega[:, None] * P)) + E @ (P.T @ P)')),
        ('weights squared', False, product(right='Q @ ((omega[:, None] * D).T @ (omega[:, None] * P)) + E @ (P.T @ (omega[:, None] * P))')),
    ],
    'chosen_estimate': [
        ('as derived', True, CHOSEN.format('len(P) / chances[j] * (r - P[i] @ Q[j])**2')),
        ('shapes', True, CHOSEN.format('(P[i].dot(Q[j]) - r)**2 / (chances[j] / P.shape[0])')),
        ('square written out', True, CHOSEN.format('len(P) * (r * r - 2 * r * (P[i] @ Q[j]) + (P[i] @ Q[j])**2) / chances[j]')),
        ('columns as if drawn uniformly', False, CHOSEN.format('len(P) * len(Q) * (r - P[i] @ Q[j])**2')),
        ('the whole sum', False, CHOSEN.format('((r - P @ Q.T)**2).sum()')),
        ('all columns of the row', False, CHOSEN.format('len(P) * ((r - Q @ P[i])**2).sum()')),
        ('rows not scaled', False, CHOSEN.format('(r - P[i] @ Q[j])**2 / chances[j]')),
        ('square forgotten', False, CHOSEN.format('len(P) / chances[j] * (r - P[i] @ Q[j])')),
        ('scaled by the columns, too', False, CHOSEN.format('len(P) * len(Q) / chances[j] * (r - P[i] @ Q[j])**2')),
        ('chances multiplied', False, CHOSEN.format('len(P) * chances[j] * (r - P[i] @ Q[j])**2')),
        ('chances of the row', False, CHOSEN.format('len(P) / chances[i % len(Q)] * (r - P[i] @ Q[j])**2')),
        ('sign', False, CHOSEN.format('-len(P) / chances[j] * (r - P[i] @ Q[j])**2')),
        ('r forgotten', False, CHOSEN.format('len(P) / chances[j] * (P[i] @ Q[j])**2')),
        ('four rows', False, CHOSEN.format('4 / chances[j] * (r - P[i] @ Q[j])**2')),
    ],
    'observed_estimate': [
        ('as derived', True, OBSERVED.format(AS_DERIVED)),
        ('counts by bincount', True, OBSERVED.format('n**2 / np.bincount(pairs[0])[i] / np.bincount(pairs[1])[j] * (r - P[i] @ Q[j])**2')),
        ('weights one by one', True, OBSERVED.format('(n / np.count_nonzero(pairs[0] == i)) * (n / np.count_nonzero(pairs[1] == j)) * (P[i] @ Q[j] - r)**2')),
        ('the whole sum', False, OBSERVED.format('((r - P @ Q.T)**2).sum()')),
        ('every pair counted once', False, OBSERVED.format(AS_DERIVED.replace('n**2', 'len(set(zip(*map(tuple, pairs))))**2'))),
        ('counts of the other draw', False, OBSERVED.format(AS_DERIVED.replace('== i', '== pairs[0][two]').replace('== j', '== pairs[1][one]'))),
        ('counts exchanged', False, OBSERVED.format('n**2 / np.sum(pairs[1] == i) / np.sum(pairs[0] == j) * (r - P[i] @ Q[j])**2')),
        ('n times n minus one', False, OBSERVED.format(AS_DERIVED.replace('n**2', 'n * (n - 1)'))),
        ('scaled by m n', False, OBSERVED.format('len(P) * len(Q) * (r - P[i] @ Q[j])**2')),
        ('only the rows corrected', False, OBSERVED.format('n * len(Q) / np.sum(pairs[0] == i) * (r - P[i] @ Q[j])**2')),
        ('only the columns corrected', False, OBSERVED.format('n * len(P) / np.sum(pairs[1] == j) * (r - P[i] @ Q[j])**2')),
        ('multiplied by the counts', False, OBSERVED.format('np.sum(pairs[0] == i) * np.sum(pairs[1] == j) * (r - P[i] @ Q[j])**2')),
        ('n not squared', False, OBSERVED.format(AS_DERIVED.replace('n**2', 'n'))),
        ('row and column of one pair', False, OBSERVED.format(AS_DERIVED.replace('Q[j]', 'Q[pairs[1][one]]'))),
    ],
    'answer': [
        ('read off', True, 'answer_size = 3600'),
        ('searched from below', True, 'n = 50\nwhile 3 * n * MY_WIDTH + observed_pairs()[n - 1] > .2 * n**2: n += 10\nanswer_size = n'),
        ('one place to the left', True, 'answer_size = 3400.'),
        ('without the observed pairs', False, 'answer_size = 15 * MY_WIDTH'),
        ('as many users as items', False, 'answer_size = 20 * MY_WIDTH'),
        ('users in place of items', False, 'answer_size = 30 * MY_WIDTH'),
        ('where both cost the same', False, 'answer_size = round(1.5 * MY_WIDTH)'),
        ('the left end', False, 'answer_size = 50'),
        ('the right end', False, 'answer_size = 20000'),
        ('a hundredth', False, 'answer_size = 150 * MY_WIDTH'),
        ('a power of two near by', False, 'answer_size = 4096'),
        ('its exponent', False, 'answer_size = 12'),
        ('a text', False, "answer_size = '3600'"),
        ('left empty', False, 'answer_size = None'),
    ],
    'real': [
        ('ranks by counting', True, real()),
        ('lists of twenty', True, real(share='np.mean([j in np.argsort(-S[i])[:20] for i, j in hidden])')),
        ('lists by partition', True, real(share='sum(j in set(np.argpartition(-S[i], 20)[:20]) for i, j in hidden.tolist()) / len(hidden)')),
        ('known links left in the lists', False, real(hide='pass')),
        ('ten in a list', False, real(share=RANKS.replace('20', '10'))),
        ('nineteen in a list', False, real(share=RANKS.replace('20', '19'))),
        ('imputed value forgotten', False, real(imputed='0 * imputed')),
        ('ridge not halved', False, real(ridge='2 * ridge')),
        ('ranked among the sources', False, real(share=RANKS.replace('S[i] > S[i, j]', 'S[:, j] > S[i, j]'))),
        ('links it was fitted to', False, real(hide='pass', share=RANKS.replace('hidden', 'known'))),
        ('fitted to hidden links too', False, real(links='tuple(links.observed.T)')),
        ('start at zero', False, real(where='np.zeros(P0.size + Q0.size)')),
        ('three steps', False, real(steps=3)),
        ('all of the weight on the unseen pairs', False, real(weight='1 + 0 * weight')),
        ('no ridge', False, real(ridge='0.')),
        ('precision of the lists', False, real(share=RANKS + ' / 20')),
        ('left empty', False, 'recall = None'),
    ],
}  # fmt: skip

MORE = {
    'loss': [
        ('eigenvalues of the Gramians', 6, '''
def loss(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q); i, j = pairs
    values, V = np.linalg.eigh(P.T @ (omega[:, None] * P)); W = Q @ V
    pull = len(Q) * float(omega @ (r * r)) - 2 * float(P.T @ (omega * r) @ Q.sum(0)) + float((values * (W * W).sum(0)).sum())
    return float(np.logaddexp(0, -np.sum(P[i] * Q[j], axis=1)).sum()) + pull / 2
'''),
        ('the half forgotten', 0, '''
def loss(P, Q, pairs, omega, r):
    s = (P[pairs[0]] * Q[pairs[1]]).sum(1)
    return float(np.logaddexp(0, -s).sum() + len(Q) * omega @ (r * r) - 2 * (omega * r) @ P @ Q.sum(0) + ((P.T @ (omega[:, None] * P)) * (Q.T @ Q)).sum())
'''),
        ('QR factors in place of Gramians', 6, '''
def loss(P, Q, pairs, omega, r):
    i, j = pairs; s = np.einsum('tk,tk->t', np.asarray(P)[i], np.asarray(Q)[j])
    root = np.sqrt(omega); one = (root * r) @ (root[:, None] * np.asarray(P)); two = np.asarray(Q).sum(0)
    A, B = np.linalg.qr(root[:, None] * np.asarray(P), mode='r'), np.linalg.qr(np.asarray(Q), mode='r')
    return float(np.logaddexp(0, -s).sum() + (len(Q) * ((root * r)**2).sum() - 2 * one @ two + ((A @ B.T)**2).sum()) / 2)
'''),
        ('trace of a product', 6, '''
def loss(P, Q, pairs, omega, r):
    from scipy.special import log_expit
    s = np.array([P[i] @ Q[j] for i, j in zip(*pairs)])
    heavy = P * omega.reshape(-1, 1)
    quadratic = sum(omega * r**2) * len(Q) - 2 * heavy.T.dot(r).dot(Q.sum(0)) + np.trace(heavy.T @ P @ (Q.T @ Q))
    return -log_expit(s).sum() + .5 * quadratic
'''),
        ('an extended column for r', 6, '''
def loss(P, Q, pairs, omega, r):
    A, B = np.column_stack([r, -np.asarray(P)]) * np.sqrt(omega)[:, None], np.column_stack([np.ones(len(Q)), np.asarray(Q)])
    s = (np.asarray(P)[pairs[0]] * np.asarray(Q)[pairs[1]]).sum(1)
    return float(np.where(s > 0, np.log1p(np.exp(-np.abs(s))), -s + np.log1p(np.exp(-np.abs(s)))).sum() + np.sum((A.T @ A) * (B.T @ B)) / 2)
'''),
        ('a product without the trace', 0, '''
def loss(P, Q, pairs, omega, r):
    s = (P[pairs[0]] * Q[pairs[1]]).sum(1)
    return float(np.logaddexp(0, -s).sum() + (len(Q) * omega @ (r * r) - 2 * (omega * r) @ P @ Q.sum(0) + (P.T @ (omega[:, None] * P) @ (Q.T @ Q)).sum()) / 2)
'''),
        ('row by row', 0, '''
def loss(P, Q, pairs, omega, r):
    s = (P[pairs[0]] * Q[pairs[1]]).sum(1)
    return float(np.logaddexp(0, -s).sum() + sum(o / 2 * ((a - Q @ p)**2).sum() for o, a, p in zip(omega, r, P)))
'''),
        ('row by row, after np.asarray', 0, '''
def loss(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q); s = (P[pairs[0]] * Q[pairs[1]]).sum(1)
    return float(np.logaddexp(0, -s).sum() + sum(o / 2 * ((a - Q @ p)**2).sum() for o, a, p in zip(omega, r, P)))
'''),
    ],
    'gradient': [
        ('one-hot products of the pairs', 6, '''
def gradient(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q); i, j = pairs; s = np.exp(-np.logaddexp(0, (P[i] * Q[j]).sum(1)))
    o = omega[:, None]; L, R = o * (P @ (Q.T @ Q) - np.outer(r, Q.sum(0))), Q @ ((o * P).T @ P) - (o * P).T @ r
    for c in range(P.shape[1]):
        L[:, c] -= np.bincount(i, s * Q[j, c], len(P)); R[:, c] -= np.bincount(j, s * P[i, c], len(Q))
    return L, R
'''),
        ('pairs that stand twice counted once', 0, '''
def gradient(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q); i, j = np.unique(np.array(pairs), axis=1); s = np.exp(-np.logaddexp(0, (P[i] * Q[j]).sum(1)))[:, None]
    o = omega[:, None]; L, R = o * (P @ (Q.T @ Q) - np.outer(r, Q.sum(0))), Q @ ((o * P).T @ P) - (o * P).T @ r
    np.add.at(L, i, -s * Q[j]); np.add.at(R, j, -s * P[i])
    return L, R
'''),
        ('a sparse matrix of slopes', 6, '''
def gradient(P, Q, pairs, omega, r):
    from scipy.sparse import coo_array
    from scipy.special import expit
    P, Q = np.asarray(P), np.asarray(Q); s = -expit(-(P[pairs[0]] * Q[pairs[1]]).sum(1))
    S = coo_array((s, pairs), shape=(len(P), len(Q))).tocsr()
    return S @ Q + np.sqrt(omega)[:, None]**2 * (P @ (Q.T @ Q) - r[:, None] * Q.sum(0)), S.T @ P + Q @ (P.T * omega @ P) - P.T * omega @ r
'''),
        ('pair by pair', 6, '''
def gradient(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q)
    L, R = (P @ (Q.T @ Q) - np.outer(r, Q.sum(0))) * omega[:, None], Q @ (P.T @ np.multiply(P, omega[:, None])) - np.multiply(omega, r) @ P
    for i, j in zip(*pairs):
        s = P[i] @ Q[j]; slope = -1 / (1 + math.exp(s)) if s < 0 else -math.exp(-s) / (1 + math.exp(-s))
        L[i] += slope * Q[j]; R[j] += slope * P[i]
    return L, R
'''),
        ('r pulled the other way', 0, '''
def gradient(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q); o = omega[:, None]; L, R = o * (P @ (Q.T @ Q) + np.outer(r, Q.sum(0))), Q @ ((o * P).T @ P) + (o * P).T @ r
    s = -1 / (1 + np.exp((P[pairs[0]] * Q[pairs[1]]).sum(1)))[:, None]
    np.add.at(L, pairs[0], s * Q[pairs[1]]); np.add.at(R, pairs[1], s * P[pairs[0]])
    return L, R
'''),
    ],
    'product': [
        ('the dense matrix', 0, '''
def product(P, Q, pairs, omega, D, E):
    W = D @ Q.T + P @ E.T; M = omega[:, None] * W
    s = (P[pairs[0]] * Q[pairs[1]]).sum(1); h = 1 / (2 + np.exp(s) + np.exp(-s))
    np.add.at(M, pairs, h * W[pairs])
    return M @ Q, M.T @ P
'''),
        ('pair by pair', 6, '''
def product(P, Q, pairs, omega, D, E):
    P, Q, D, E = map(np.asarray, (P, Q, D, E)); O = omega[:, None] * P; A, B, C = Q.T @ Q, P.T @ O, D.T @ O
    L, R = omega[:, None] * (D @ A) + O @ (E.T @ Q), Q @ C + E @ B
    for i, j in zip(*pairs):
        t = math.exp(-abs(P[i] @ Q[j])); h = t / (1 + t)**2 * (D[i] @ Q[j] + P[i] @ E[j]); L[i] += h * Q[j]; R[j] += h * P[i]
    return L, R
'''),
        ('the Hessian, with the second derivatives of the scores', 0, '''
def product(P, Q, pairs, omega, D, E):
    O = omega[:, None]; G = [O * (D @ (Q.T @ Q) + P @ (E.T @ Q)), Q @ (D.T @ (O * P)) + E @ (P.T @ (O * P))]
    i, j = pairs; s = (P[i] * Q[j]).sum(1); p = 1 / (1 + np.exp(-s)); w = p * (1 - p) * ((D[i] * Q[j]).sum(1) + (P[i] * E[j]).sum(1))
    np.add.at(G[0], i, w[:, None] * Q[j] - (1 - p)[:, None] * E[j]); np.add.at(G[1], j, w[:, None] * P[i] - (1 - p)[:, None] * D[i])
    return tuple(G)
'''),
        ('differences of a gradient', 0, '''
def product(P, Q, pairs, omega, D, E):
    h = 1e-6; a, b = gradient(P + h * D, Q + h * E, pairs, omega, 0 * omega), gradient(P - h * D, Q - h * E, pairs, omega, 0 * omega)
    return (a[0] - b[0]) / (2 * h), (a[1] - b[1]) / (2 * h)
'''),
        ('a sparse matrix of curvatures', 6, '''
def product(P, Q, pairs, omega, D, E):
    from scipy.sparse import coo_array
    from scipy.special import expit
    P, Q, D, E = map(np.asarray, (P, Q, D, E)); i, j = pairs; s = (P[i] * Q[j]).sum(1); h = expit(s) * expit(-s)
    M = coo_array((h * ((D[i] * Q[j]).sum(1) + (P[i] * E[j]).sum(1)), (i, j)), shape=(len(P), len(Q))).tocsr()
    O = omega[:, None] * P
    return M @ Q + omega[:, None] * (D @ (Q.T @ Q)) + O @ (E.T @ Q), M.T @ P + Q @ (D.T @ O) + E @ (P.T @ O)
'''),
    ],
    'observed_estimate': [
        ('probabilities first', 3, '''
def observed_estimate(P, Q, pairs, one, two, r):
    row, column = pairs[0][one], pairs[1][two]
    p, q = np.mean(pairs[0] == row), np.mean(pairs[1] == column)
    return (P[row] @ Q[column] - r)**2 / p / q
'''),
        ('a dictionary of counts', 3, '''
def observed_estimate(P, Q, pairs, one, two, r):
    from collections import Counter
    rows, columns = Counter(map(int, pairs[0])), Counter(map(int, pairs[1])); i, j = int(pairs[0][one]), int(pairs[1][two])
    return len(pairs[0])**2 * (r - P[i] @ Q[j])**2 / (rows[i] * columns[j])
'''),
    ],
}  # fmt: skip
