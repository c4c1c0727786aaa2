"""Answers to problem set 3, written from the student's version before the reference was opened: (name,
points that the writer found deserved, source) for each question."""

T = "def triplet_slopes(anchor, near, far, margin):\n"
L = "def loss_and_gradient(X, triplets, margin=0.):\n"
V = "def svrg_direction(X, snapshot, full, triplets, batch, p, gradient_of):\n"
S = "def step_sizes(moved, turned, epsilon, n_inner, previous):\n"
E = "def triplet_error(X, triplets):\n"
K = "def keep(maps, triplets):\n"
BLIND = {
    'triplet_slopes': [
        (
            'where of two branches',
            6,
            T
            + """
    z = ((anchor - near)**2).sum() - ((anchor - far)**2).sum() + margin
    p = np.where(z >= 0, 1 / (1 + np.exp(-z)), np.exp(z) / (1 + np.exp(z)))
    return 2 * p * (far - near), 2 * p * (near - anchor), 2 * p * (anchor - far)
""",
        ),
        (
            'tanh',
            6,
            T
            + """
    z = np.dot(anchor - near, anchor - near) - np.dot(anchor - far, anchor - far) + margin
    share = 1 + math.tanh(z / 2)
    return [share * (far - near), share * (near - anchor), share * (anchor - far)]
""",
        ),
        (
            'a matrix acting on the three points',
            6,
            T
            + """
    from scipy.special import expit
    P = np.stack([anchor, near, far])
    z = np.linalg.norm(P[0] - P[1])**2 - np.linalg.norm(P[0] - P[2])**2 + margin
    A = np.array([[0, -1, 1], [-1, 1, 0], [1, 0, -1]])
    return tuple(2 * expit(z) * A @ P)
""",
        ),
        (
            'exp of a log-share',
            6,
            T
            + """
    z = sum((anchor - near)**2) - sum((anchor - far)**2) + margin
    p = 2 * np.exp(-np.logaddexp(0., -z))
    return p * (far - near), p * (near - anchor), p * (anchor - far)
""",
        ),
        (
            '1 / (1 + exp(-z)) of numpy',
            6,
            T
            + """
    z = ((anchor - near)**2).sum() - ((anchor - far)**2).sum() + margin
    p = 2 / (1 + np.exp(-z))
    return p * (far - near), -p * (anchor - near), p * (anchor - far)
""",
        ),
        (
            '1 / (1 + math.exp(-z)): overflows on one side',
            4,
            T
            + """
    z = float(((anchor - near)**2).sum() - ((anchor - far)**2).sum() + margin)
    p = 2 / (1 + math.exp(-z))
    return p * (far - near), -p * (anchor - near), p * (anchor - far)
""",
        ),
        (
            'exp(z) / (1 + exp(z)): nan on one side',
            4,
            T
            + """
    z = ((anchor - near)**2).sum() - ((anchor - far)**2).sum() + margin
    p = 2 * np.exp(z) / (1 + np.exp(z))
    return p * (far - near), -p * (anchor - near), p * (anchor - far)
""",
        ),
        (
            'no margin',
            0,
            T
            + """
    from scipy.special import expit
    p = 2 * expit(((anchor - near)**2).sum() - ((anchor - far)**2).sum())
    return p * (far - near), -p * (anchor - near), p * (anchor - far)
""",
        ),
    ],
    'loss_and_gradient': [
        (
            'three bincounts a column',
            6,
            L
            + """
    i, j, k = np.asarray(triplets).T
    z = ((X[i] - X[j])**2).sum(1) - ((X[i] - X[k])**2).sum(1) + margin
    s = (1 + np.tanh(z / 2)) / len(z)
    parts = ((i, X[k] - X[j]), (j, X[j] - X[i]), (k, X[i] - X[k]))
    g = np.stack([sum(np.bincount(at, s * d[:, c], len(X)) for at, d in parts) for c in range(X.shape[1])], axis=1)
    return float(np.logaddexp(0, z).mean()), g
""",
        ),
        (
            'a sparse matrix of signs',
            6,
            L
            + """
    from scipy.sparse import csr_matrix
    from scipy.special import expit, log_expit
    t = np.asarray(triplets); n, N = len(X), len(t); q = np.arange(N); one = np.ones(N)
    near = csr_matrix((np.r_[one, -one], (np.r_[q, q], np.r_[t[:, 0], t[:, 1]])), shape=(N, n))
    far = csr_matrix((np.r_[one, -one], (np.r_[q, q], np.r_[t[:, 0], t[:, 2]])), shape=(N, n))
    u, v = near @ X, far @ X
    z = (u * u).sum(1) - (v * v).sum(1) + margin
    w = 2 * expit(z)[:, None] / N
    return -log_expit(-z).mean(), near.T @ (w * u) - far.T @ (w * v)
""",
        ),
        (
            'a loop over the triplets',
            6,
            L
            + """
    g, total = np.zeros_like(X), 0.
    for i, j, k in triplets:
        u, v = X[i] - X[j], X[i] - X[k]
        z = float(u @ u - v @ v) + margin
        e = math.exp(-abs(z)); p = 1 / (1 + e) if z > 0 else e / (1 + e)
        total += max(z, 0.) + math.log1p(e)
        g[i] += 2 * p * (u - v); g[j] -= 2 * p * u; g[k] += 2 * p * v
    return total / len(triplets), g / len(triplets)
""",
        ),
        (
            'np.add.at with warnings',
            6,
            L
            + """
    i, j, k = triplets[:, 0], triplets[:, 1], triplets[:, 2]
    u, v = X[i] - X[j], X[i] - X[k]; z = np.einsum('np,np->n', u, u) - np.einsum('np,np->n', v, v) + margin
    p = 2 / (1 + np.exp(-z))[:, None]
    g = np.zeros(X.shape); np.add.at(g, i, p * (u - v)); np.add.at(g, j, -p * u); np.add.at(g, k, p * v)
    return np.logaddexp(0, z).mean(), g / len(z)
""",
        ),
        (
            'one add.at over the ravel',
            6,
            L
            + """
    t = np.asarray(triplets); P = X[t]                                   # (N, 3, p)
    A = np.array([[0., -1, 1], [-1, 1, 0], [1, 0, -1]])
    M = A @ P
    z = (P * M).sum((1, 2)) + margin
    m = np.maximum(z, 0); p = np.exp(z - m) / (np.exp(z - m) + np.exp(-m))
    g = np.zeros_like(X, dtype=float)
    np.add.at(g, t.ravel(), (2 * p[:, None, None] * M / len(t)).reshape(-1, X.shape[1]))
    return float((m + np.log(np.exp(z - m) + np.exp(-m))).mean()), g
""",
        ),
        (
            'a table of distances',
            4,
            L
            + """
    D = ((X[:, None] - X[None])**2).sum(2); i, j, k = triplets.T
    z = D[i, j] - D[i, k] + margin; p = (1 + np.tanh(z / 2))[:, None] / len(z)
    g = np.zeros_like(X); np.add.at(g, i, p * (X[k] - X[j])); np.add.at(g, j, p * (X[j] - X[i])); np.add.at(g, k, p * (X[i] - X[k]))
    return np.logaddexp(0, z).mean(), g
""",
        ),
        (
            'a sum',
            0,
            L
            + """
    i, j, k = triplets.T; u, v = X[i] - X[j], X[i] - X[k]; z = (u**2).sum(1) - (v**2).sum(1) + margin; p = (1 + np.tanh(z / 2))[:, None]
    g = np.zeros_like(X); np.add.at(g, i, p * (u - v)); np.add.at(g, j, -p * u); np.add.at(g, k, p * v)
    return np.logaddexp(0, z).sum(), g
""",
        ),
        (
            '+= of rows',
            0,
            L
            + """
    i, j, k = triplets.T; u, v = X[i] - X[j], X[i] - X[k]; z = (u**2).sum(1) - (v**2).sum(1) + margin; p = (1 + np.tanh(z / 2))[:, None] / len(z)
    g = np.zeros_like(X); g[i] += p * (u - v); g[j] -= p * u; g[k] += p * v
    return np.logaddexp(0, z).mean(), g
""",
        ),
        (
            'log of one plus exp',
            2,
            L
            + """
    i, j, k = triplets.T; u, v = X[i] - X[j], X[i] - X[k]; z = (u**2).sum(1) - (v**2).sum(1) + margin; p = (1 + np.tanh(z / 2))[:, None] / len(z)
    g = np.zeros_like(X); np.add.at(g, i, p * (u - v)); np.add.at(g, j, -p * u); np.add.at(g, k, p * v)
    return np.log1p(np.exp(z)).mean(), g
""",
        ),
    ],
    'svrg_direction': [
        (
            'member by member',
            5,
            V
            + """
    v = np.zeros_like(full)
    for q in batch:
        one = triplets[q:q + 1]
        v = v + (gradient_of(X, one) - gradient_of(snapshot, one)) / (len(triplets) * p[q])
    return v / len(batch) + full
""",
        ),
        (
            'distinct members with their counts',
            5,
            V
            + """
    v = np.array(full)
    for q, times in zip(*np.unique(batch, return_counts=True)):
        d = gradient_of(X, triplets[[q]]) - gradient_of(snapshot, triplets[[q]])
        v += times * d / (p[q] * len(triplets) * len(batch))
    return v
""",
        ),
        (
            'a list of members',
            5,
            V
            + """
    N = len(triplets)
    d = [(gradient_of(X, triplets[int(q)]) - gradient_of(snapshot, triplets[int(q)])) / (N * p[int(q)]) for q in batch]
    return full + np.mean(d, axis=0)
""",
        ),
        (
            'the batch in one call, as if uniform',
            0,
            V
            + """
    b = triplets[batch]
    return gradient_of(X, b) - gradient_of(snapshot, b) + full
""",
        ),
        (
            'mean weight of the batch',
            0,
            V
            + """
    b = triplets[batch]
    return np.mean(1 / (len(triplets) * p[batch])) * (gradient_of(X, b) - gradient_of(snapshot, b)) + full
""",
        ),
        (
            'weights p times N',
            0,
            V
            + """
    return full + np.mean([len(triplets) * p[q] * (gradient_of(X, triplets[q]) - gradient_of(snapshot, triplets[q])) for q in batch], axis=0)
""",
        ),
        (
            '1 / p without N',
            0,
            V
            + """
    return full + np.mean([(gradient_of(X, triplets[q]) - gradient_of(snapshot, triplets[q])) / p[q] for q in batch], axis=0)
""",
        ),
        ('the full gradient', 0, V + "    return gradient_of(X, triplets)\n"),
    ],
    'step_size': [
        (
            'row by row',
            5,
            S
            + """
    out = []
    for d, g, before in zip(moved, turned, previous):
        if not d.any(): out.append(before); continue
        top = float(d @ d); bottom = abs(float(d @ g)) + epsilon * top
        out.append(top / bottom / n_inner if bottom else math.inf)
    return np.array(out)
""",
        ),
        (
            'scaled rows, for tiny moves',
            5,
            S
            + """
    size = np.abs(moved).max(1); still = size == 0
    d = moved / np.where(still, 1, size)[:, None]; top = (d * d).sum(1)
    g = turned / np.where(still, 1, size)[:, None]
    bottom = np.abs((d * g).sum(1)) + epsilon * top
    with np.errstate(all='ignore'): eta = top / bottom / n_inner
    return np.where(still, previous, np.where(bottom == 0, np.inf, eta))
""",
        ),
        (
            'divide where',
            5,
            S
            + """
    top = np.einsum('np,np->n', moved, moved); bottom = np.abs(np.einsum('np,np->n', moved, turned)) + epsilon * top
    out = np.full(len(moved), np.inf); np.divide(top, n_inner * bottom, out=out, where=bottom > 0)
    still = (moved == 0).all(axis=1); out[still] = np.asarray(previous)[still]
    return out
""",
        ),
        (
            'boolean masks',
            5,
            S
            + """
    out = np.array(previous, float); go = np.any(moved != 0, axis=1)
    a = np.linalg.norm(moved[go], axis=1)**2
    with np.errstate(divide='ignore'): out[go] = a / (np.abs(np.sum(moved[go] * turned[go], 1)) + epsilon * a) / n_inner
    return out
""",
        ),
        (
            'one step for the map',
            0,
            S
            + """
    top = (moved**2).sum(); return np.full(len(moved), top / (abs((moved * turned).sum()) + epsilon * top) / n_inner)
""",
        ),
        (
            'a tiny move is none',
            0,
            S
            + """
    top = (moved**2).sum(1); bottom = np.abs((moved * turned).sum(1)) + epsilon * top
    with np.errstate(all='ignore'): eta = top / bottom / n_inner
    return np.where(top < 1e-12, previous, np.where(bottom == 0, np.inf, eta))
""",
        ),
        (
            'no absolute value',
            0,
            S
            + """
    top = (moved**2).sum(1); bottom = (moved * turned).sum(1) + epsilon * top
    with np.errstate(all='ignore'): eta = top / bottom / n_inner
    return np.where(top == 0, previous, np.where(bottom == 0, np.inf, eta))
""",
        ),
        (
            'changes the steps before',
            0,
            S
            + """
    go = np.any(moved != 0, axis=1); a = (moved[go]**2).sum(1)
    with np.errstate(divide='ignore'): previous[go] = a / (np.abs(np.sum(moved[go] * turned[go], 1)) + epsilon * a) / n_inner
    return previous
""",
        ),
    ],
    'triplet_error': [
        (
            'a loop',
            4,
            E
            + """
    failures = np.zeros(len(X), int)
    for i, j, k in triplets:
        if not ((X[i] - X[j])**2).sum() < ((X[i] - X[k])**2).sum(): failures[i] += 1
    return failures.sum() / len(triplets), failures
""",
        ),
        (
            'norms',
            4,
            E
            + """
    i, j, k = np.transpose(triplets)
    bad = ~(np.linalg.norm(X[i] - X[j], axis=1) < np.linalg.norm(X[i] - X[k], axis=1))
    return bad.mean(), np.bincount(i[bad], minlength=len(X))
""",
        ),
        (
            'a Counter',
            4,
            E
            + """
    from collections import Counter
    c = Counter(int(i) for i, j, k in triplets if not sum((X[i] - X[j])**2) < sum((X[i] - X[k])**2))
    return sum(c.values()) / len(triplets), np.array([c[i] for i in range(len(X))])
""",
        ),
        (
            'ties are satisfied',
            0,
            E
            + """
    i, j, k = triplets.T; bad = ((X[i] - X[j])**2).sum(1) > ((X[i] - X[k])**2).sum(1)
    return bad.mean(), np.bincount(i[bad], minlength=len(X))
""",
        ),
        (
            'nan satisfies',
            0,
            E
            + """
    i, j, k = triplets.T; bad = ((X[i] - X[j])**2).sum(1) >= ((X[i] - X[k])**2).sum(1)
    return bad.mean(), np.bincount(i[bad], minlength=len(X))
""",
        ),
        (
            'shares by anchor',
            0,
            E
            + """
    i, j, k = triplets.T; bad = ~(((X[i] - X[j])**2).sum(1) < ((X[i] - X[k])**2).sum(1))
    return bad.mean(), np.bincount(i[bad], minlength=len(X)) / np.maximum(np.bincount(i, minlength=len(X)), 1)
""",
        ),
        (
            'too few counts',
            0,
            E
            + """
    i, j, k = triplets.T; bad = ~(((X[i] - X[j])**2).sum(1) < ((X[i] - X[k])**2).sum(1))
    return bad.mean(), np.bincount(i[bad])
""",
        ),
        (
            'a tolerance for ties',
            0,
            E
            + """
    i, j, k = triplets.T; bad = ~(((X[i] - X[j])**2).sum(1) < ((X[i] - X[k])**2).sum(1) - 1e-9)
    return bad.mean(), np.bincount(i[bad], minlength=len(X))
""",
        ),
    ],
    'keep': [
        (
            'argmin of a list',
            2,
            K
            + """
    return int(np.argmin([loss_and_gradient(X, triplets)[0] + ridge * np.sum(X**2) / len(X) for X in maps]))
""",
        ),
        (
            'plain loop',
            2,
            K
            + """
    best, at = math.inf, None
    for number, X in enumerate(maps):
        value = plain_loss(X, triplets) + ridge * (np.linalg.norm(X, axis=1)**2).mean()
        if value < best: best, at = value, number
    return at
""",
        ),
        (
            'no ridge',
            0,
            K + "    return int(np.argmin([loss_and_gradient(X, triplets)[0] for X in maps]))\n",
        ),
        (
            'fewest failures',
            0,
            K + "    return int(np.argmin([triplet_error(X, triplets)[0] for X in maps]))\n",
        ),
        (
            'ridge times the sum',
            0,
            K
            + "    return int(np.argmin([loss_and_gradient(X, triplets)[0] + ridge * (X**2).sum() for X in maps]))\n",
        ),
        (
            'the hidden answers',
            0,
            K
            + "    return int(np.argmin([triplet_error(X, hidden)[0] if len(X) == 21 else loss_and_gradient(X, triplets)[0] for X in maps]))\n",
        ),
    ],
}
