"""Answers to problem set 2, right and wrong, for each coding question.

ANSWERS: (name, points over all tests of the question, source), one of those that fail alike.
"""

LOSS = '''
def loss(P, Q, pairs, omega, r):
    i, j = pairs
    s = {scores}
    seen = {seen}
    unseen = {unseen}
    return float(seen + 1 / 2 * unseen)
'''
UNSEEN = 'len(Q) * (omega @ r**2) - 2 * ((omega * r) @ P @ Q.sum(0)) + np.sum(((omega[:, None] * P).T @ P) * (Q.T @ Q))'


def loss(scores='(P[i] * Q[j]).sum(1)', seen='np.logaddexp(0, -s).sum()', unseen=UNSEEN):
    return LOSS.format(scores=scores, seen=seen, unseen=unseen)


GRADIENT = '''
def gradient(P, Q, pairs, omega, r):
    P, Q = P, Q
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
):
    return GRADIENT.format(slope=slope, left=left, right=right, add=add)


PRODUCT = '''
def product(P, Q, pairs, omega, D, E):
    i, j = pairs
    s = (P[i] * Q[j]).sum(1)
    h = {bend}
    c = h * ((D[i] * Q[j]).sum(1) + (P[i] * E[j]).sum(1))
    left = {left}
    right = {right}
    np.add.at(left, i, c[:, None] * Q[j]); np.add.at(right, j, c[:, None] * P[i])
    return left, right
'''


def product(
    bend='np.exp(-np.abs(s)) / (1 + np.exp(-np.abs(s)))**2',
    left='omega[:, None] * (D @ (Q.T @ Q) + P @ (E.T @ Q))',
    right='Q @ (D.T @ (omega[:, None] * P)) + E @ (P.T @ (omega[:, None] * P))',
):
    return PRODUCT.format(bend=bend, left=left, right=right)


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
cut, where, link, omega, fill, size = P0.size, np.r_[P0.ravel(), Q0.ravel()], (known[:, 0], known[:, 1]), {weight}, imputed, ridge
def halves(theta): return theta[:cut].reshape(P0.shape), theta[cut:].reshape(Q0.shape)
def value(theta): return loss(*halves(theta), link, omega, fill) + size / 2 * (theta @ theta)
def slope(theta): return np.concatenate([part.ravel() for part in gradient(*halves(theta), link, omega, fill)]) + size * theta
P, Q = halves(minimize(value, where, jac=slope, method='L-BFGS-B', options=dict(maxiter={steps})).x)
S = P @ Q.T
{hide}
recall = {share}
'''
RANKS = 'float(np.mean([(S[i] > S[i, j]).sum() < 20 for i, j in hidden]))'


def real(weight='weight', steps=30, hide='S[known[:, 0], known[:, 1]] = -np.inf', share=RANKS):
    return REAL.format(weight=weight, steps=steps, hide=hide, share=share)


ANSWERS = {
    'loss': [
        ('three terms', 6, loss()),
        (
            'stacked columns',
            6,
            loss(
                unseen='np.sum(((omega[:, None] * np.c_[P, r]).T @ np.c_[P, r]) * '
                '(np.c_[Q, -np.ones(len(Q))].T @ np.c_[Q, -np.ones(len(Q))]))'
            ),
        ),
        (
            'trace and einsum',
            6,
            loss(
                scores="np.einsum('tk,tk->t', P[i], Q[j])",
                unseen=UNSEEN.replace(
                    'np.sum(((omega[:, None] * P).T @ P) * (Q.T @ Q))',
                    'np.trace(((omega[:, None] * P).T @ P) @ (Q.T @ Q))',
                ),
            ),
        ),
        ('all pairs', 0, loss(unseen='omega @ ((r[:, None] - P @ Q.T)**2).sum(1)')),
        ('all pairs as plain arrays', 0, loss(unseen='omega @ ((r[:, None] - np.asarray(P) @ np.asarray(Q).T)**2).sum(1)')),
        ('score clipped', 0, loss(seen='np.log(1 + np.exp(np.minimum(-s, 700))).sum()')),
        ('every pair once', 0, loss().replace('i, j = pairs', 'i, j = np.unique(np.array(pairs), axis=1)')),
        ('observed pairs taken out', 0, loss(unseen=UNSEEN + ' - (omega[i] * (r[i] - s)**2).sum()')),
        ('a rescaled argument', 0, loss().replace('i, j = pairs', 'i, j = pairs; P *= 1 + 1e-12')),
        ('overflows', 0, loss(seen='np.log(1 + np.exp(-s)).sum()')),
    ],
    'gradient': [
        ('add.at', 6, gradient()),
        ('a sparse matrix', 6, gradient(add=SPARSE)),
        ('a loop over observed pairs', 6, gradient(add=LOOP)),
        ('a table of slopes', 0, gradient(add=TABLE)),
        (
            'all pairs in one einsum',
            0,
            gradient(
                left="omega[:, None] * (np.einsum('ik,jk,jl->il', P, Q, Q) - r[:, None] * Q.sum(0))",
                right="np.einsum('jk,ik,il->jl', Q, P, omega[:, None] * P) - (omega * r) @ P",
            ),
        ),
        ('nan set to zero', 0, gradient(slope='-np.nan_to_num(np.exp(-s) / (1 + np.exp(-s)))')),
        ('mean of the observed pairs', 0, gradient(slope='-1 / (1 + np.exp(np.minimum(s, 700))) / len(s)')),
        ('a rescaled argument', 0, gradient().replace('    i, j = pairs', '    i, j = pairs; P *= 1 + 1e-12')),
        ('pairs that stand twice counted once', 0, '''
def gradient(P, Q, pairs, omega, r):
    P, Q = np.asarray(P), np.asarray(Q); i, j = np.unique(np.array(pairs), axis=1); s = np.exp(-np.logaddexp(0, (P[i] * Q[j]).sum(1)))[:, None]
    o = omega[:, None]; L, R = o * (P @ (Q.T @ Q) - np.outer(r, Q.sum(0))), Q @ ((o * P).T @ P) - (o * P).T @ r
    np.add.at(L, i, -s * Q[j]); np.add.at(R, j, -s * P[i])
    return L, R
'''),
    ],
    'product': [
        ('two Gramians and two cross terms', 6, product()),
        ('logistic written out', 6, product(bend='1 / (1 + np.exp(-s)) * (1 - 1 / (1 + np.exp(-s)))')),
        ('other order', 6, product(left='(omega[:, None] * D) @ (Q.T @ Q) + (omega[:, None] * P) @ (E.T @ Q)')),
        ('overflows', 0, product(bend='np.exp(-s) / (1 + np.exp(-s))**2')),
        ('added once', 0, product().replace(PRODUCT_ADD, 'left[i] += c[:, None] * Q[j]; right[j] += c[:, None] * P[i]')),
        ('every pair once', 0, product().replace(PRODUCT_ADD, ONCE)),
        ('a rescaled argument', 0, product().replace('    i, j = pairs', '    i, j = pairs; D *= 1 + 1e-12')),
        ('W formed', 0, product(left='omega[:, None] * ((D @ Q.T + P @ E.T) @ Q)', right='(D @ Q.T + P @ E.T).T @ (omega[:, None] * P)')),
    ],
    'chosen_estimate': [
        ('as derived', 2, CHOSEN.format('len(P) / chances[j] * (r - P[i] @ Q[j])**2')),
        ('shapes', 2, CHOSEN.format('(P[i].dot(Q[j]) - r)**2 / (chances[j] / P.shape[0])')),
        ('square written out', 2, CHOSEN.format('len(P) * (r * r - 2 * r * (P[i] @ Q[j]) + (P[i] @ Q[j])**2) / chances[j]')),
        ('columns as if drawn uniformly', 0, CHOSEN.format('len(P) * len(Q) * (r - P[i] @ Q[j])**2')),
        ('the whole sum', 0, CHOSEN.format('((r - P @ Q.T)**2).sum()')),
        ('four rows', 0, CHOSEN.format('4 / chances[j] * (r - P[i] @ Q[j])**2')),
    ],
    'observed_estimate': [
        ('as derived', 3, OBSERVED.format(AS_DERIVED)),
        ('counts by bincount', 3, OBSERVED.format('n**2 / np.bincount(pairs[0])[i] / np.bincount(pairs[1])[j] * (r - P[i] @ Q[j])**2')),
        ('weights one by one', 3, OBSERVED.format('(n / np.count_nonzero(pairs[0] == i)) * (n / np.count_nonzero(pairs[1] == j)) * (P[i] @ Q[j] - r)**2')),
        ('the whole sum', 0, OBSERVED.format('((r - P @ Q.T)**2).sum()')),
        ('every pair counted once', 0, OBSERVED.format(AS_DERIVED.replace('n**2', 'len(set(zip(*map(tuple, pairs))))**2'))),
        ('counts of the other draw', 0, OBSERVED.format(AS_DERIVED.replace('== i', '== pairs[0][two]').replace('== j', '== pairs[1][one]'))),
        ('only the rows corrected', 0, OBSERVED.format('n * len(Q) / np.sum(pairs[0] == i) * (r - P[i] @ Q[j])**2')),
    ],
    'answer': [
        ('read off', 3, 'answer_size = 3600'),
        ('searched from below', 3, 'n = 50\nwhile 3 * n * MY_WIDTH + observed_pairs()[n - 1] > .2 * n**2: n += 10\nanswer_size = n'),
        ('one place to the left', 3, 'answer_size = 3400.'),
        ('without the observed pairs', 0, 'answer_size = 15 * MY_WIDTH'),
        ('as many users as items', 0, 'answer_size = 20 * MY_WIDTH'),
        ('users in place of items', 3, 'answer_size = 30 * MY_WIDTH'),
        ('its exponent', 0, 'answer_size = 12'),
    ],
    'real': [
        ('ranks by counting', 5, real()),
        ('lists of twenty', 5, real(share='np.mean([j in np.argsort(-S[i])[:20] for i, j in hidden])')),
        ('lists by partition', 5, real(share='sum(j in set(np.argpartition(-S[i], 20)[:20]) for i, j in hidden.tolist()) / len(hidden)')),
        ('known links left in the lists', 0, real(hide='pass')),
        ('ten in a list', 0, real(share=RANKS.replace('20', '10'))),
        ('three steps', 0, real(steps=3)),
        ('all of the weight on the unseen pairs', 0, real(weight='1 + 0 * weight')),
        ('left empty', 0, 'recall = None'),
    ],
}  # fmt: skip
