"""Answers to problem set 4, written from the student's version before the reference was opened: (name,
points that the writer found deserved, source) for each question."""

C = "def curvature_weight(gap, temperature=1.):\n"
Q = "def quadratic_bound(features, log_weights, temperature=1.):\n"
A = "def ggn_vp(samples, S, ridge, V):\n"
M = "def majorize_step(W, samples, labels, S, ridge, relaxation=1.):\n"
BLIND = {
    'curvature_weight': [
        (
            'tanh over its argument, where it is not zero',
            5,
            C
            + """
    x = np.asarray(gap, float) / (2 * temperature)
    ratio = np.ones_like(x)
    np.divide(np.tanh(x), x, out=ratio, where=x != 0)
    return ratio / (4 * temperature)
""",
        ),
        (
            'series close to zero',
            5,
            C
            + """
    x = np.asarray(gap, dtype=float) / temperature / 2
    near = np.abs(x) < 1e-3
    safe = np.where(near, 1., x)
    return np.where(near, 1 - x * x / 3 + 2 * x**4 / 15, np.tanh(safe) / safe) / 4 / temperature
""",
        ),
        (
            'one number at a time',
            5,
            C
            + """
    def one(g):
        x = abs(float(g)) / temperature
        if x == 0: return .25 / temperature
        if x == math.inf: return 0.
        return math.tanh(x / 2) / (2 * x * temperature)
    return np.vectorize(one, otypes=[float])(gap)
""",
        ),
        (
            'expm1 of minus the size',
            5,
            C
            + """
    x = np.abs(gap) / temperature
    e = -np.expm1(-x)
    with np.errstate(invalid='ignore'):
        b = e / (2 - e) / (2 * x)
    return np.where(x == 0, .25, b) / temperature
""",
        ),
        (
            'a number for a number',
            5,
            C
            + """
    if np.ndim(gap):
        return np.array([curvature_weight(g, temperature) for g in np.ravel(gap)]).reshape(np.shape(gap))
    return .25 / temperature if gap == 0 else math.tanh(gap / temperature / 2) / (2 * gap)
""",
        ),
        (
            'difference of logistic functions',
            0,
            C
            + """
    g = np.where(np.asarray(gap) == 0, 1e-300, gap)
    return np.where(np.asarray(gap) == 0, .25 / temperature, (expit(g / temperature) - .5) / g)
""",
        ),
        (
            'expm1 that overflows',
            0,
            C
            + """
    x = np.asarray(gap, float) / temperature; e = np.expm1(x)
    return np.where(x == 0, .25, e / (e + 2) / (2 * x)) / temperature
""",
        ),
        (
            'quadrature of sech squared',
            0,
            C
            + """
    t, w = np.polynomial.legendre.leggauss(8)
    x = np.asarray(gap, float)[..., None] / (2 * temperature)
    return (w / np.cosh(x * (t + 1) / 2)**2).sum(-1) / 8 / temperature
""",
        ),
        (
            'only beta of gap / temperature',
            0,
            C
            + """
    x = np.asarray(gap, float) / temperature
    return np.where(x == 0, .25, np.tanh(x / 2) / np.where(x == 0, 1, 2 * x))
""",
        ),
        ('a quarter', 0, C + "    return np.full(np.shape(gap), .25 / temperature)\n"),
        (
            'single precision',
            0,
            C
            + """
    x = np.asarray(gap, np.float32) / np.float32(2 * temperature)
    return np.where(x == 0, 1, np.tanh(x) / np.where(x == 0, 1, x)) / (4 * temperature)
""",
        ),
    ],
    'quadratic_bound': [
        (
            'outcome by outcome, weights of zero left out',
            8,
            Q
            + """
    v, mu, Sigma = None, None, np.zeros((features.shape[1],) * 2)
    for f, a in zip(features, log_weights):
        if a == -np.inf: continue
        if v is None: v, mu = float(a), f.astype(float); continue
        gap, d = a - v, f - mu
        beta = .25 / temperature if gap == 0 else math.tanh(gap / temperature / 2) / (2 * gap)
        Sigma += beta * np.outer(d, d)
        mu = mu + expit(gap / temperature) * d
        v = temperature * np.logaddexp(v / temperature, a / temperature)
    return v, mu, Sigma
""",
        ),
        (
            'all at once',
            8,
            Q
            + """
    keep = np.isfinite(log_weights); F, a = features[keep], log_weights[keep] / temperature
    v = np.logaddexp.accumulate(a)
    W = np.tril(np.exp(np.minimum(a[None] - v[:, None], 0)))
    means = W @ F
    gap, d = a[1:] - v[:-1], F[1:] - means[:-1]
    b = np.where(gap == 0, .25, np.tanh(gap / 2) / np.where(gap == 0, 1, 2 * gap)) / temperature
    return temperature * v[-1], means[-1], np.einsum('n,ni,nj->ij', b, d, d)
""",
        ),
        (
            'with the function of part 1',
            8,
            Q
            + """
    order = [j for j in range(len(log_weights)) if np.isfinite(log_weights[j])]
    v, mu = log_weights[order[0]], np.array(features[order[0]], float)
    S = np.zeros((len(mu), len(mu)))
    for j in order[1:]:
        xi = log_weights[j] - v
        S = S + curvature_weight(xi, temperature) * np.outer(features[j] - mu, features[j] - mu)
        mu = mu + expit(xi / temperature) * (features[j] - mu)
        v = temperature * logsumexp([v / temperature, log_weights[j] / temperature])
    return [v, mu, S]
""",
        ),
        (
            'by recursion',
            8,
            Q
            + """
    if len(log_weights) == 1 or not np.isfinite(log_weights[:-1]).any():
        return float(log_weights[-1]), features[-1] * 1., np.zeros((features.shape[1],) * 2)
    v, mu, S = quadratic_bound(features[:-1], log_weights[:-1], temperature)
    a, d = log_weights[-1], features[-1] - mu
    if a == -np.inf: return v, mu, S
    x = (a - v) / temperature
    b = (.25 if abs(x) < 1e-8 else np.tanh(x / 2) / 2 / x) / temperature
    share = 1 / (1 + np.exp(-x))
    top = max(a, v)
    return top + temperature * math.log(math.exp((a - top) / temperature) + math.exp((v - top) / temperature)), (1 - share) * mu + share * features[-1], S + b * np.outer(d, d)
""",
        ),
        (
            'scaled by the temperature',
            8,
            Q
            + """
    tau = temperature; keep = log_weights > -np.inf
    F, a = features[keep] / tau, log_weights[keep] / tau
    v, m, S = a[0], F[0], np.zeros((F.shape[1],) * 2)
    for f, w in zip(F[1:], a[1:]):
        x = w - v; S = S + (.25 if x == 0 else math.tanh(x / 2) / (2 * x)) * np.outer(f - m, f - m)
        m = m + expit(x) * (f - m); v = np.logaddexp(v, w)
    return tau * v, tau * m, tau * S
""",
        ),
        (
            'smallest first',
            0,
            Q
            + """
    order = np.argsort(log_weights); F, a = features[order], log_weights[order] / temperature
    keep = np.isfinite(a); F, a = F[keep], a[keep]
    v, m, S = a[0], F[0], np.zeros((F.shape[1],) * 2)
    for f, w in zip(F[1:], a[1:]):
        x = w - v; S = S + (.25 if x == 0 else math.tanh(x / 2) / (2 * x)) * np.outer(f - m, f - m) / temperature
        m = m + expit(x) * (f - m); v = np.logaddexp(v, w)
    return temperature * v, m, S
""",
        ),
        (
            'begins at minus infinity, nan where the first weight is zero',
            0,
            Q
            + """
    v, m, S = -np.inf, np.zeros(features.shape[1]), np.zeros((features.shape[1],) * 2)
    for f, w in zip(features, log_weights / temperature):
        x = w - v; b = .25 if x == 0 else np.tanh(x / 2) / (2 * x)
        S = S + b * np.outer(f - m, f - m) / temperature
        m = m + expit(x) * (f - m); v = np.logaddexp(v, w)
    return temperature * v, m, S
""",
        ),
        (
            'begins at a tiny weight',
            0,
            Q
            + """
    v, m, S = -690., np.zeros(features.shape[1]), np.zeros((features.shape[1],) * 2)
    for f, w in zip(features, log_weights / temperature):
        if w == -np.inf: continue
        x = w - v; b = .25 if x == 0 else np.tanh(x / 2) / (2 * x)
        S = S + b * np.outer(f - m, f - m) / temperature
        m = m + expit(x) * (f - m); v = np.logaddexp(v, w)
    return temperature * v, m, S
""",
        ),
        (
            'the mean moves before the curvature',
            0,
            Q
            + """
    keep = np.isfinite(log_weights); F, a = features[keep], log_weights[keep] / temperature
    v, m, S = a[0], F[0], np.zeros((F.shape[1],) * 2)
    for f, w in zip(F[1:], a[1:]):
        x = w - v; m = m + expit(x) * (f - m)
        S = S + (.25 if x == 0 else math.tanh(x / 2) / (2 * x)) * np.outer(f - m, f - m) / temperature
        v = np.logaddexp(v, w)
    return temperature * v, m, S
""",
        ),
        (
            'a quarter for every beta',
            0,
            Q
            + """
    keep = np.isfinite(log_weights); F, a = features[keep], log_weights[keep] / temperature
    v, m, S = a[0], F[0], np.zeros((F.shape[1],) * 2)
    for f, w in zip(F[1:], a[1:]):
        x = w - v; S = S + .25 * np.outer(f - m, f - m) / temperature
        m = m + expit(x) * (f - m); v = np.logaddexp(v, w)
    return temperature * v, m, S
""",
        ),
        (
            'math.exp that overflows',
            0,
            Q
            + """
    keep = np.isfinite(log_weights); F, a = features[keep], log_weights[keep] / temperature
    v, m, S = a[0], F[0], np.zeros((F.shape[1],) * 2)
    for f, w in zip(F[1:], a[1:]):
        x = w - v; S = S + (.25 if x == 0 else math.tanh(x / 2) / (2 * x)) * np.outer(f - m, f - m) / temperature
        m = m + (f - m) / (1 + math.exp(-x)); v = np.logaddexp(v, w)
    return temperature * v, m, S
""",
        ),
        (
            'the exact covariance',
            0,
            Q
            + """
    p = np.exp(log_weights / temperature - logsumexp(log_weights / temperature)); m = p @ features; d = features - m
    return temperature * logsumexp(log_weights / temperature), m, (d.T * p) @ d / temperature
""",
        ),
    ],
    'curvature_times': [
        (
            'sample by sample',
            6,
            A
            + """
    out = len(samples) * np.asarray(ridge)[:, None] * V
    for x, s in zip(samples, S):
        out = out + np.outer(s @ (V @ x), x)
    return out
""",
        ),
        (
            'batched matmul',
            6,
            A
            + """
    scores = samples @ V.T
    moved = np.matmul(S, scores[:, :, None])[:, :, 0]
    return moved.T @ samples + len(samples) * ridge[:, None] * V
""",
        ),
        (
            'einsum with a path',
            6,
            A
            + """
    return np.einsum('ikl,ld,id,ie->ke', S, V, samples, samples, optimize=True) + len(samples) * np.diag(ridge) @ V
""",
        ),
        (
            'two einsums',
            6,
            A
            + """
    t = np.einsum('ikl,il->ik', S, np.einsum('ld,id->il', V, samples))
    return np.einsum('ik,id->kd', t, samples) + samples.shape[0] * np.einsum('k,kd->kd', ridge, V)
""",
        ),
        (
            'tensordot and a diagonal',
            6,
            A
            + """
    scores = np.tensordot(samples, V, axes=(1, 1))
    moved = (S * scores[:, None, :]).sum(2)
    return np.dot(moved.T, samples) + (V.T * (len(samples) * ridge)).T
""",
        ),
        (
            'einsum in one loop',
            0,
            A
            + """
    return np.einsum('ikl,ld,id,ie->ke', S, V, samples, samples) + len(samples) * ridge[:, None] * V
""",
        ),
        (
            'the matrix, formed',
            0,
            A + "    return (full_matrix(samples, S, ridge) @ V.ravel()).reshape(V.shape)\n",
        ),
        (
            'block rows of the matrix',
            0,
            A
            + """
    out = len(samples) * ridge[:, None] * V
    for k in range(len(V)):
        for l in range(len(V)):
            out[k] += (samples.T * S[:, k, l]) @ samples @ V[l]
    return out
""",
        ),
        (
            'Boehning for every S',
            0,
            A
            + """
    scores = samples @ V.T
    return .5 * (scores - scores.mean(1, keepdims=True)).T @ samples + len(samples) * ridge[:, None] * V
""",
        ),
        (
            'the ridge once',
            0,
            A
            + """
    return np.einsum('ikl,il->ik', S, samples @ V.T).T @ samples + ridge[:, None] * V
""",
        ),
        (
            'one ridge',
            0,
            A
            + """
    return np.einsum('ikl,il->ik', S, samples @ V.T).T @ samples + len(samples) * np.mean(ridge) * V
""",
        ),
    ],
    'majorize_step': [
        (
            'scipy softmax and solve',
            6,
            M
            + """
    from scipy.special import softmax
    P = softmax(samples @ W.T, axis=1); P -= np.eye(len(W))[labels]
    g = P.T @ samples + len(samples) * ridge[:, None] * W
    return W - relaxation * np.linalg.solve(full_matrix(samples, S, ridge), g.ravel()).reshape(W.shape)
""",
        ),
        (
            'Cholesky',
            6,
            M
            + """
    from scipy.linalg import cho_factor, cho_solve
    s = samples @ W.T; P = np.exp(s - s.max(1, keepdims=True)); P /= P.sum(1, keepdims=True)
    P[np.arange(len(labels)), labels] -= 1
    g = np.einsum('tk,td->kd', P, samples) + np.diag(len(samples) * ridge) @ W
    return W - relaxation * cho_solve(cho_factor(full_matrix(samples, S, ridge)), g.flatten()).reshape(*W.shape)
""",
        ),
        (
            'conjugate gradients, nothing formed',
            6,
            M
            + """
    n = len(samples); s = samples @ W.T; P = np.exp(s - logsumexp(s, axis=1)[:, None])
    for i, y in enumerate(labels): P[i, y] -= 1
    g = P.T @ samples + n * ridge[:, None] * W
    times = lambda V: np.einsum('ikl,il->ik', S, samples @ V.T).T @ samples + n * ridge[:, None] * V
    x, rest = np.zeros_like(W), g.copy(); p, rr = rest.copy(), (rest**2).sum(); start = rr
    for _ in range(20 * W.size):
        if rr <= 1e-26 * start or rr == 0: break
        q = times(p); step = rr / (p * q).sum(); x += step * p; rest -= step * q
        new = (rest**2).sum(); p = rest + new / rr * p; rr = new
    return W - relaxation * x
""",
        ),
        (
            'the inverse',
            6,
            M
            + """
    g = len(samples) * ridge[:, None] * W
    for x, y in zip(samples, labels):
        s = W @ x; p = np.exp(s - s.max()); p /= p.sum(); p[y] -= 1
        g = g + np.outer(p, x)
    return W - relaxation * (np.linalg.inv(full_matrix(samples, S, ridge)) @ g.reshape(-1)).reshape(W.shape)
""",
        ),
        (
            'least squares',
            6,
            M
            + """
    from scipy.special import log_softmax
    P = np.exp(log_softmax(samples @ W.T, axis=1)) - (labels[:, None] == np.arange(len(W)))
    g = P.T @ samples + len(samples) * (W.T * ridge).T
    return W - relaxation * np.linalg.lstsq(full_matrix(samples, S, ridge), g.ravel(), rcond=None)[0].reshape(W.shape)
""",
        ),
        (
            'softmax that overflows',
            0,
            M
            + """
    P = np.exp(samples @ W.T); P /= P.sum(1, keepdims=True); P[np.arange(len(labels)), labels] -= 1
    g = P.T @ samples + len(samples) * ridge[:, None] * W
    return W - relaxation * np.linalg.solve(full_matrix(samples, S, ridge), g.ravel()).reshape(W.shape)
""",
        ),
        (
            'the ridge once in the gradient',
            0,
            M
            + """
    from scipy.special import softmax
    P = softmax(samples @ W.T, axis=1) - np.eye(len(W))[labels]
    g = P.T @ samples + ridge[:, None] * W
    return W - relaxation * np.linalg.solve(full_matrix(samples, S, ridge), g.ravel()).reshape(W.shape)
""",
        ),
        (
            'no relaxation',
            0,
            M
            + """
    from scipy.special import softmax
    P = softmax(samples @ W.T, axis=1) - np.eye(len(W))[labels]
    g = P.T @ samples + len(samples) * ridge[:, None] * W
    return W - np.linalg.solve(full_matrix(samples, S, ridge), g.ravel()).reshape(W.shape)
""",
        ),
        (
            'W in place',
            0,
            M
            + """
    from scipy.special import softmax
    P = softmax(samples @ W.T, axis=1) - np.eye(len(W))[labels]
    g = P.T @ samples + len(samples) * ridge[:, None] * W
    W -= relaxation * np.linalg.solve(full_matrix(samples, S, ridge), g.ravel()).reshape(W.shape)
    return W
""",
        ),
        (
            'a Newton step',
            0,
            M
            + """
    from scipy.special import softmax
    P = softmax(samples @ W.T, axis=1); H = np.stack([np.diag(p) - np.outer(p, p) for p in P])
    g = (P - np.eye(len(W))[labels]).T @ samples + len(samples) * ridge[:, None] * W
    return W - relaxation * np.linalg.solve(full_matrix(samples, H, ridge), g.ravel()).reshape(W.shape)
""",
        ),
        (
            'only the blocks of the classes',
            0,
            M
            + """
    from scipy.special import softmax
    P = softmax(samples @ W.T, axis=1) - np.eye(len(W))[labels]
    g = P.T @ samples + len(samples) * ridge[:, None] * W; out = W.copy()
    for k in range(len(W)):
        out[k] -= relaxation * np.linalg.solve((samples.T * S[:, k, k]) @ samples + len(samples) * ridge[k] * np.eye(W.shape[1]), g[k])
    return out
""",
        ),
    ],
}
