"""Answers to problem set 2, written from the student's version before the reference was opened: (name,
points that the writer found deserved, source) for each question."""

HEAD = "def loss(P, Q, pairs, omega, r):\n"
G = "def gradient(P, Q, pairs, omega, r):\n"
PR = "def product(P, Q, pairs, omega, D, E):\n"
BLIND = {
    'loss': [
        (
            'augmented embeddings',
            6,
            HEAD
            + """
    from scipy.special import log_expit
    A, B = np.column_stack([P, -r]), np.column_stack([Q, np.ones(len(Q))])
    rows, cols = pairs
    return -log_expit(np.einsum('tk,tk->t', P[rows], Q[cols])).sum() + .5 * np.trace((A.T * omega) @ A @ (B.T @ B))
""",
        ),
        (
            'triangles of two QR',
            6,
            HEAD
            + """
    a = np.linalg.qr(np.sqrt(omega)[:, None] * np.column_stack([P, -r]), mode='r')
    b = np.linalg.qr(np.column_stack([Q, np.ones(len(Q))]), mode='r')
    s = (P[pairs[0]] * Q[pairs[1]]).sum(axis=1)
    return np.logaddexp(0, -s).sum() + .5 * np.linalg.norm(a @ b.T)**2
""",
        ),
        (
            'a loop over pairs, two branches',
            6,
            HEAD
            + """
    total = 0.
    for i, j in zip(*pairs):
        s = float(P[i] @ Q[j])
        total += math.log1p(math.exp(-s)) if s > 0 else -s + math.log1p(math.exp(s))
    GP, GQ = P.T @ (omega[:, None] * P), Q.T @ Q
    total += .5 * (len(Q) * float(omega @ (r * r)) - 2 * float(((omega * r) @ P) @ Q.sum(axis=0)) + float((GP * GQ).sum()))
    return total
""",
        ),
        (
            'counts of distinct pairs',
            6,
            HEAD
            + """
    both, times = np.unique(np.stack(pairs), axis=1, return_counts=True)
    s = np.sum(P[both[0]] * Q[both[1]], -1)
    price = np.maximum(-s, 0) + np.log1p(np.exp(-np.abs(s)))
    quad = np.vdot(P.T @ np.diag(omega) @ P if len(P) < 10 else (P.T * omega) @ P, Q.T @ Q) - 2 * np.dot(np.dot(P.T, omega * r), Q.sum(0)) + len(Q) * np.sum(omega * r**2)
    return float(times @ price + quad / 2)
""",
        ),
        (
            'einsum with a path',
            6,
            HEAD
            + """
    s = np.einsum('tk,tk->t', P[pairs[0]], Q[pairs[1]])
    quad = np.einsum('i,ik,il,jk,jl->', omega, P, P, Q, Q, optimize=True)
    cross = np.einsum('i,i,ik,jk->', omega, r, P, Q, optimize=True)
    return np.logaddexp(0., -s).sum() + quad / 2 - cross + len(Q) / 2 * np.einsum('i,i,i', omega, r, r)
""",
        ),
        (
            'where of both branches, with warnings',
            6,
            HEAD
            + """
    s = np.array([P[i].dot(Q[j]) for i, j in zip(*pairs)])
    obs = np.where(s > 0, np.log(1 + np.exp(-s)), -s + np.log(1 + np.exp(s))).sum()
    R = np.sqrt(omega)
    A = P * R[:, None]
    return obs + .5 * ((A.T @ A) * (Q.T @ Q)).sum() - (R * r) @ A @ Q.sum(0) + .5 * len(Q) * (omega * r * r).sum()
""",
        ),
        (
            'sparse counts',
            6,
            HEAD
            + """
    from scipy.sparse import coo_matrix
    M = coo_matrix((np.ones(len(pairs[0])), (np.array(pairs[0]), np.array(pairs[1]))), shape=(len(P), len(Q))).tocsr().tocoo()
    s = np.einsum('tk,tk->t', P[M.row], Q[M.col])
    return (M.data * np.logaddexp(0, -s)).sum() + .5 * (np.tensordot((omega * P.T) @ P, Q.T @ Q) - 2 * (omega * r) @ (P @ Q.sum(0)) + len(Q) * omega @ r**2)
""",
        ),
        (
            'a number that is an array of no dimension',
            6,
            HEAD
            + """
    s = np.sum(P[pairs[0]] * Q[pairs[1]], axis=1)
    return np.asarray(np.logaddexp(0, -s).sum() + .5 * (((omega[:, None] * P).T @ P) * (Q.T @ Q)).sum() - (omega * r) @ P @ Q.sum(0) + .5 * len(Q) * (omega * r**2).sum())
""",
        ),
        (
            'blocks of a hundred rows',
            0,
            HEAD
            + """
    s = np.sum(P[pairs[0]] * Q[pairs[1]], axis=1); total = np.logaddexp(0, -s).sum()
    for a in range(0, len(P), 100):
        b = slice(a, a + 100)
        total += .5 * (omega[b, None] * (r[b, None] - P[b] @ Q.T)**2).sum()
    return total
""",
        ),
        (
            'scores clipped at 700',
            0,
            HEAD
            + """
    s = np.clip(np.sum(P[pairs[0]] * Q[pairs[1]], axis=1), -700, 700)
    return np.log1p(np.exp(-s)).sum() + .5 * (((omega[:, None] * P).T @ P) * (Q.T @ Q)).sum() - (omega * r) @ P @ Q.sum(0) + .5 * len(Q) * (omega * r**2).sum()
""",
        ),
        (
            'nan_to_num of an overflow',
            0,
            HEAD
            + """
    s = np.sum(P[pairs[0]] * Q[pairs[1]], axis=1)
    return np.nan_to_num(np.log1p(np.exp(-s)), posinf=0).sum() + .5 * (((omega[:, None] * P).T @ P) * (Q.T @ Q)).sum() - (omega * r) @ P @ Q.sum(0) + .5 * len(Q) * (omega * r**2).sum()
""",
        ),
        (
            'each pair once',
            0,
            HEAD
            + """
    one = np.array(sorted(set(zip(map(int, pairs[0]), map(int, pairs[1]))))).T
    s = np.sum(P[one[0]] * Q[one[1]], axis=1)
    return np.logaddexp(0, -s).sum() + .5 * (((omega[:, None] * P).T @ P) * (Q.T @ Q)).sum() - (omega * r) @ P @ Q.sum(0) + .5 * len(Q) * (omega * r**2).sum()
""",
        ),
        (
            'the unseen pairs only',
            0,
            HEAD
            + """
    s = np.sum(P[pairs[0]] * Q[pairs[1]], axis=1); w, t = omega[pairs[0]], r[pairs[0]]
    return np.logaddexp(0, -s).sum() - .5 * (w * (t - s)**2).sum() + .5 * (((omega[:, None] * P).T @ P) * (Q.T @ Q)).sum() - (omega * r) @ P @ Q.sum(0) + .5 * len(Q) * (omega * r**2).sum()
""",
        ),
        (
            'every row in Python',
            0,
            HEAD
            + """
    s = np.sum(P[pairs[0]] * Q[pairs[1]], axis=1); S, q = Q.T @ Q, Q.sum(0)
    total = np.logaddexp(0, -s).sum()
    for w, p, t in zip(omega, P, r):
        total += .5 * w * (p @ S @ p - 2 * t * (p @ q) + len(Q) * t * t)
    return total
""",
        ),
    ],
    'gradient': [
        (
            'through a sparse matrix',
            6,
            G
            + """
    from scipy.sparse import csr_matrix
    from scipy.special import expit
    i, j = pairs
    H = csr_matrix((-expit(-np.asarray(np.einsum('tk,tk->t', P[i], Q[j]))), (i, j)), shape=(len(P), len(Q)))
    gp = omega[:, None] * (P @ (Q.T @ Q)) - np.outer(omega * r, Q.sum(0)) + H @ Q
    gq = Q @ ((P.T * omega) @ P) - (omega * r) @ P + H.T @ P
    return gp, gq
""",
        ),
        (
            'augmented, then the last column cut',
            6,
            G
            + """
    A, B = np.hstack([P, -r[:, None]]), np.hstack([Q, np.ones((len(Q), 1))])
    gp = (omega[:, None] * (A @ (B.T @ B)))[:, :-1]
    gq = (B @ (A.T @ (omega[:, None] * A)))[:, :-1]
    for i, j in zip(*pairs):
        s = P[i] @ Q[j]
        h = -1 / (1 + math.exp(s)) if s < 700 else 0.
        gp[i] += h * Q[j]; gq[j] += h * P[i]
    return gp, gq
""",
        ),
        (
            'bincount column by column',
            6,
            G
            + """
    i, j = pairs; s = (P[i] * Q[j]).sum(1)
    h = -np.exp(-np.logaddexp(0, s))
    gp = omega[:, None] * (P @ (Q.T @ Q) - r[:, None] * Q.sum(0))
    gq = Q @ (P.T @ (omega[:, None] * P)) - (P * (omega * r)[:, None]).sum(0)
    gp = gp + np.stack([np.bincount(i, h * Q[j, c], len(P)) for c in range(P.shape[1])], 1)
    gq = gq + np.stack([np.bincount(j, h * P[i, c], len(Q)) for c in range(P.shape[1])], 1)
    return [gp, gq]
""",
        ),
        (
            'np.add.at, tanh',
            6,
            G
            + """
    i, j = pairs; h = -.5 * (1 - np.tanh(.5 * np.sum(P[i] * Q[j], 1)))
    gp = (P @ (Q.T @ Q)) * omega[:, None]; gp -= np.outer(r * omega, Q.sum(axis=0))
    gq = Q @ ((omega * P.T) @ P); gq -= (r * omega) @ P
    np.add.at(gp, i, h[:, None] * Q[j]); np.add.at(gq, j, h[:, None] * P[i])
    return gp, gq
""",
        ),
        (
            'exp(-s) / (1 + exp(-s))',
            0,
            G
            + """
    i, j = pairs; s = np.sum(P[i] * Q[j], 1); h = -np.exp(-s) / (1 + np.exp(-s))
    gp = (P @ (Q.T @ Q)) * omega[:, None] - np.outer(r * omega, Q.sum(axis=0))
    gq = Q @ ((omega * P.T) @ P) - (r * omega) @ P
    np.add.at(gp, i, h[:, None] * Q[j]); np.add.at(gq, j, h[:, None] * P[i])
    return gp, gq
""",
        ),
        (
            '+= of fancy rows',
            0,
            G
            + """
    i, j = pairs; h = -.5 * (1 - np.tanh(.5 * np.sum(P[i] * Q[j], 1)))
    gp = (P @ (Q.T @ Q)) * omega[:, None] - np.outer(r * omega, Q.sum(axis=0))
    gq = Q @ ((omega * P.T) @ P) - (r * omega) @ P
    gp[i] += h[:, None] * Q[j]; gq[j] += h[:, None] * P[i]
    return gp, gq
""",
        ),
        (
            'mean weight on the right',
            0,
            G
            + """
    i, j = pairs; h = -.5 * (1 - np.tanh(.5 * np.sum(P[i] * Q[j], 1)))
    gp = (P @ (Q.T @ Q)) * omega[:, None] - np.outer(r * omega, Q.sum(axis=0))
    gq = omega.mean() * (Q @ (P.T @ P)) - (r * omega) @ P
    np.add.at(gp, i, h[:, None] * Q[j]); np.add.at(gq, j, h[:, None] * P[i])
    return gp, gq
""",
        ),
        (
            'differences of a fast loss',
            0,
            G
            + """
    def f(P, Q):
        s = np.sum(P[pairs[0]] * Q[pairs[1]], axis=1)
        return np.logaddexp(0, -s).sum() + .5 * (((omega[:, None] * P).T @ P) * (Q.T @ Q)).sum() - (omega * r) @ P @ Q.sum(0)
    out = []
    for X, at in ((P, lambda X: (X, Q)), (Q, lambda X: (P, X))):
        g = np.zeros(X.shape)
        for place in np.ndindex(*X.shape):
            up, down = X.copy(), X.copy(); up[place] += 1e-6; down[place] -= 1e-6
            g[place] = (f(*at(up)) - f(*at(down))) / 2e-6
        out.append(g)
    return tuple(out)
""",
        ),
        (
            'M @ Q with the table',
            0,
            G
            + """
    M = omega[:, None] * (P @ Q.T - r[:, None])
    i, j = pairs; h = -.5 * (1 - np.tanh(.5 * np.sum(P[i] * Q[j], 1)))
    np.add.at(M, (i, j), h)
    return M @ Q, M.T @ P
""",
        ),
    ],
    'product': [
        (
            'sparse part',
            6,
            PR
            + """
    from scipy.sparse import coo_matrix
    i, j = pairs; s = np.abs(np.einsum('tk,tk->t', P[i], Q[j])); e = np.exp(-s); h = e / (1 + e)**2
    w = np.einsum('tk,tk->t', D[i], Q[j]) + np.einsum('tk,tk->t', P[i], E[j])
    S = coo_matrix((np.asarray(h * w), (i, j)), shape=(len(P), len(Q))).tocsr()
    return omega[:, None] * (D @ (Q.T @ Q) + P @ (E.T @ Q)) + S @ Q, Q @ (D.T @ (omega[:, None] * P)) + E @ (P.T @ (omega[:, None] * P)) + S.T @ P
""",
        ),
        (
            'a loop over the pairs',
            6,
            PR
            + """
    WP = omega[:, None] * P
    a = omega[:, None] * (D @ (Q.T @ Q) + P @ (E.T @ Q)); b = Q @ (D.T @ WP) + E @ (P.T @ WP)
    for i, j in zip(*pairs):
        s = P[i] @ Q[j]; h = .25 / np.cosh(np.clip(s / 2, -300, 300))**2
        w = h * (D[i] @ Q[j] + P[i] @ E[j])
        a[i] += w * Q[j]; b[j] += w * P[i]
    return a, b
""",
        ),
        (
            'stacked factors',
            6,
            PR
            + """
    L, R = np.hstack([D, P]), np.hstack([Q, E])
    i, j = pairs; h = .25 * (1 - np.tanh(np.sum(P[i] * Q[j], -1) / 2)**2) * np.sum(L[i] * R[j], -1)
    a, b = (omega[:, None] * L) @ (R.T @ Q), R @ (L.T @ (omega[:, None] * P))
    np.add.at(a, i, h[:, None] * Q[j]); np.add.at(b, j, h[:, None] * P[i])
    return a, b
""",
        ),
        (
            'omega outside on the right',
            0,
            PR
            + """
    L, R = np.hstack([D, P]), np.hstack([Q, E])
    i, j = pairs; h = .25 * (1 - np.tanh(np.sum(P[i] * Q[j], -1) / 2)**2) * np.sum(L[i] * R[j], -1)
    a, b = (omega[:, None] * L) @ (R.T @ Q), omega.mean() * R @ (L.T @ P)
    np.add.at(a, i, h[:, None] * Q[j]); np.add.at(b, j, h[:, None] * P[i])
    return a, b
""",
        ),
        (
            'sigma(1 - sigma) that overflows',
            0,
            PR
            + """
    L, R = np.hstack([D, P]), np.hstack([Q, E])
    i, j = pairs; s = np.sum(P[i] * Q[j], -1); h = np.exp(-s) / (1 + np.exp(-s))**2 * np.sum(L[i] * R[j], -1)
    a, b = (omega[:, None] * L) @ (R.T @ Q), R @ (L.T @ (omega[:, None] * P))
    np.add.at(a, i, h[:, None] * Q[j]); np.add.at(b, j, h[:, None] * P[i])
    return a, b
""",
        ),
        (
            'W formed row by row',
            0,
            PR
            + """
    a, b = np.zeros(P.shape), np.zeros(Q.shape)
    for i in range(len(P)):
        m = omega[i] * (Q @ D[i] + E @ P[i])
        for t in np.flatnonzero(np.asarray(pairs[0]) == i):
            j = pairs[1][t]; g = .25 / np.cosh(np.clip(P[i] @ Q[j] / 2, -300, 300))**2
            m[j] += g * (D[i] @ Q[j] + P[i] @ E[j])
        a[i] = m @ Q; b += np.outer(m, P[i])
    return a, b
""",
        ),
        (
            'no sparse part',
            0,
            PR
            + """
    L, R = np.hstack([D, P]), np.hstack([Q, E])
    return (omega[:, None] * L) @ (R.T @ Q), R @ (L.T @ (omega[:, None] * P))
""",
        ),
    ],
    'chosen_estimate': [
        (
            'math.fsum of products',
            2,
            "def chosen_estimate(P, Q, i, j, r, chances):\n    s = math.fsum(a * b for a, b in zip(P[i], Q[j]))\n    return len(P) * math.pow(r - s, 2) / float(chances[j])\n",
        ),
        (
            'shape of P',
            2,
            "def chosen_estimate(P, Q, i, j, r, chances):\n    return np.square(np.dot(P[i], Q[j]) - r) * P.shape[0] * (1 / chances[j])\n",
        ),
        (
            'n over m',
            0,
            "def chosen_estimate(P, Q, i, j, r, chances):\n    return len(Q) * (r - P[i] @ Q[j])**2 / chances[j]\n",
        ),
        (
            'the whole table, then one entry',
            0,
            "def chosen_estimate(P, Q, i, j, r, chances):\n    S = np.asarray(P) @ np.asarray(Q).T\n    return len(P) * (r - S[i, j])**2 / chances[j]\n",
        ),
        (
            'the sum itself',
            0,
            "def chosen_estimate(P, Q, i, j, r, chances):\n    return float(((r - P @ Q.T)**2).sum())\n",
        ),
    ],
    'observed_estimate': [
        (
            'counts by equality',
            3,
            "def observed_estimate(P, Q, pairs, one, two, r):\n    rows, cols = np.asarray(pairs[0]), np.asarray(pairs[1])\n    i, j = rows[one], cols[two]\n    return (r - P[i] @ Q[j])**2 * len(rows)**2 / (np.sum(rows == i) * np.sum(cols == j))\n",
        ),
        (
            'Counter',
            3,
            "from collections import Counter\ndef observed_estimate(P, Q, pairs, one, two, r):\n    rows, cols = [int(v) for v in pairs[0]], [int(v) for v in pairs[1]]\n    a, b = Counter(rows)[rows[one]] / len(rows), Counter(cols)[cols[two]] / len(cols)\n    return float((r - np.inner(P[rows[one]], Q[cols[two]]))**2 / (a * b))\n",
        ),
        (
            'bincount',
            3,
            "def observed_estimate(P, Q, pairs, one, two, r):\n    n = len(pairs[0]); i, j = pairs[0][one], pairs[1][two]\n    return n * n * (r - (P[i] * Q[j]).sum())**2 / np.bincount(pairs[0])[i] / np.bincount(pairs[1])[j]\n",
        ),
        (
            'mn',
            0,
            "def observed_estimate(P, Q, pairs, one, two, r):\n    i, j = pairs[0][one], pairs[1][two]\n    return len(P) * len(Q) * (r - P[i] @ Q[j])**2\n",
        ),
        (
            'distinct pairs',
            0,
            "def observed_estimate(P, Q, pairs, one, two, r):\n    n = len(pairs[0]); i, j = pairs[0][one], pairs[1][two]\n    both = set(zip(pairs[0].tolist(), pairs[1].tolist()))\n    return n * n * (r - P[i] @ Q[j])**2 / sum(a == i for a, _ in both) / sum(b == j for _, b in both)\n",
        ),
        (
            'weight of the row alone',
            0,
            "def observed_estimate(P, Q, pairs, one, two, r):\n    n = len(pairs[0]); i, j = pairs[0][one], pairs[1][two]\n    return len(Q) * n * (r - P[i] @ Q[j])**2 / np.sum(pairs[0] == i)\n",
        ),
    ],
}
