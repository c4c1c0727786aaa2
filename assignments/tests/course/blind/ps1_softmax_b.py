"""Answers to problem set 1, version b, written from the student's version before the reference was opened: (name,
points that the writer found deserved, source) for each question."""

D = "def double_sum(features, labels, log_norms, weights, margins):\n"
B = "def best_log_norms(features, labels, weights, margins):\n"
S = "def sampled_slopes(features, labels, log_norms, weights, margins, p, i, k):\n"
G = "def sgd_step(features, labels, log_norms, weights, margins, i, k, rate):\n"
U = "def umax_step(features, labels, log_norms, weights, margins, i, others, rate, threshold=1.):\n"
I = "def implicit_u(rate, odds, gap, old, gamma, weight, omega=wrightomega):\n"
BLIND = {
    'double_sum': [
        (
            'a loop over samples and classes',
            2,
            D
            + """
    total = 0.
    for x, y, u in zip(features, labels, log_norms):
        total += u + math.exp(-u)
        for k, w in enumerate(weights):
            if k != y: total += math.exp(x @ (w - weights[y]) + margins[k] - u)
    return total
""",
        ),
        (
            'a mask',
            2,
            D
            + """
    s = features @ weights.T; own = np.take_along_axis(s, labels[:, None], 1)
    mask = labels[:, None] != np.arange(len(weights))
    return np.sum(log_norms + np.exp(-log_norms)) + np.exp(s - own + margins - log_norms[:, None])[mask].sum()
""",
        ),
        (
            'a margin for the label, too',
            0,
            D
            + """
    s = features @ weights.T + margins; own = s[np.arange(len(labels)), labels][:, None]
    r = np.exp(s - own - log_norms[:, None]); r[np.arange(len(labels)), labels] = 0
    return (log_norms + np.exp(-log_norms)).sum() + r.sum()
""",
        ),
        (
            'the mean',
            0,
            D
            + """
    s = features @ weights.T; r = np.exp(s - s[np.arange(len(labels)), labels][:, None] + margins - log_norms[:, None]); r[np.arange(len(labels)), labels] = 0
    return float((log_norms + np.exp(-log_norms) + r.sum(1)).mean())
""",
        ),
    ],
    'best_log_norms': [
        (
            'scipy logsumexp with weights of zero and one',
            2,
            B
            + """
    from scipy.special import logsumexp
    s = features @ weights.T; d = s - s[np.arange(len(labels)), labels][:, None] + margins
    d[labels[:, None] == np.arange(len(weights))] = 0
    return logsumexp(d, axis=1)
""",
        ),
        (
            'largest gap first',
            2,
            B
            + """
    out = np.zeros(len(labels))
    for i, (x, y) in enumerate(zip(features, labels)):
        d = (weights - weights[y]) @ x + margins; d[y] = 0.
        out[i] = d.max() + np.log(np.exp(d - d.max()).sum())
    return out
""",
        ),
        (
            'log of a sum',
            0,
            B
            + """
    s = features @ weights.T; r = np.exp(s - s[np.arange(len(labels)), labels][:, None] + margins); r[np.arange(len(labels)), labels] = 1
    return np.log(r.sum(1))
""",
        ),
        (
            'the largest gap',
            0,
            B
            + """
    s = features @ weights.T; d = s - s[np.arange(len(labels)), labels][:, None] + margins; d[np.arange(len(labels)), labels] = 0
    return d.max(1)
""",
        ),
        (
            'without the one of the label',
            0,
            B
            + """
    s = features @ weights.T; d = s - s[np.arange(len(labels)), labels][:, None] + margins; d[np.arange(len(labels)), labels] = -np.inf
    return np.maximum(0, np.logaddexp.reduce(d, axis=1))
""",
        ),
    ],
    'sampled_slopes': [
        (
            'one factor in front',
            6,
            S
            + """
    x, y, u = features[i], labels[i], log_norms[i]
    ratio = (len(weights) - 1) * np.exp(np.dot(x, weights[k] - weights[y]) + margins[k] - u)
    return ratio * x / p[i], -ratio * x / p[i], (1 - np.exp(-u) - ratio) / p[i]
""",
        ),
        (
            'lists of numbers',
            6,
            S
            + """
    y, c = int(labels[i]), 1 / float(p[i])
    e = math.exp(sum(float(a) * float(b) for a, b in zip(features[i], weights[k] - weights[y])) + float(margins[k]) - float(log_norms[i]))
    q = c * (len(weights) - 1) * e
    return [q * float(a) for a in features[i]], [-q * float(a) for a in features[i]], -c * math.expm1(-log_norms[i]) - q
""",
        ),
        (
            'uniform',
            0,
            S
            + """
    x, y, u, N = features[i], labels[i], log_norms[i], len(labels)
    q = N * (len(weights) - 1) * np.exp(x @ (weights[k] - weights[y]) + margins[k] - u)
    return q * x, -q * x, N * (1 - np.exp(-u)) - q
""",
        ),
        (
            'the chance on the ratio alone',
            0,
            S
            + """
    x, y, u = features[i], labels[i], log_norms[i]
    q = (len(weights) - 1) * np.exp(x @ (weights[k] - weights[y]) + margins[k] - u) / p[i]
    return q * x, -q * x, len(labels) * (1 - np.exp(-u)) - q
""",
        ),
    ],
    'sgd_step': [
        (
            'three reads',
            6,
            G
            + """
    x, y = features[i], labels[i]
    d = weights[k] - weights[y]
    part = (len(weights) - 1) * math.exp(x @ d + margins[k] - log_norms[i])
    weights[k] = weights[k] - rate * part * x; weights[y] = weights[y] + rate * part * x
    log_norms[i] = max(log_norms[i] - rate * (-math.expm1(-log_norms[i]) - part), 0)
""",
        ),
        (
            'in place on rows',
            6,
            G
            + """
    x, y, u = features[i], int(labels[i]), float(log_norms[i])
    part = (weights.shape[0] - 1) * np.exp(float(np.dot(x, weights[k])) - float(np.dot(x, weights[y])) + margins[k] - u)
    weights[k] -= rate * part * x
    weights[y] += rate * part * x
    log_norms[i] = np.clip(u - rate * (1 - np.exp(-u) - part), 0, None)
""",
        ),
        (
            'u moves first',
            0,
            G
            + """
    x, y = features[i], labels[i]
    part = lambda: (len(weights) - 1) * math.exp(x @ (weights[k] - weights[y]) + margins[k] - log_norms[i])
    log_norms[i] = max(0., log_norms[i] - rate * (1 - math.exp(-log_norms[i]) - part()))
    q = part(); weights[k] = weights[k] - rate * q * x; weights[y] = weights[y] + rate * q * x
""",
        ),
        (
            'the whole matrix',
            4,
            G
            + """
    W = np.array(weights); x, y = features[i], labels[i]
    q = (len(W) - 1) * math.exp(x @ (W[k] - W[y]) + margins[k] - log_norms[i])
    W[k] -= rate * q * x; W[y] += rate * q * x; weights[:] = W
    log_norms[i] = max(0., log_norms[i] - rate * (1 - math.exp(-log_norms[i]) - q))
""",
        ),
        (
            'rate times N',
            0,
            G
            + """
    x, y = features[i], labels[i]; n = len(labels)
    q = n * (len(weights) - 1) * math.exp(x @ (weights[k] - weights[y]) + margins[k] - log_norms[i])
    weights[k] = weights[k] - rate * q * x; weights[y] = weights[y] + rate * q * x
    log_norms[i] = max(0., log_norms[i] - rate * (n * (1 - math.exp(-log_norms[i])) - q))
""",
        ),
    ],
    'umax_step': [
        (
            'a return before the step',
            5,
            U
            + """
    x, y = features[i], labels[i]; others = np.asarray(others)
    d = (weights[others] - weights[y]) @ x + margins[others]
    top = max(0., d.max()); b = top + math.log(math.exp(-top) + np.exp(d - top).sum())
    if log_norms[i] <= b - threshold:
        log_norms[i] = b
        return True
    q = (len(weights) - 1) / len(others) * np.exp(d - log_norms[i])
    weights[others] -= rate * np.outer(q, x); weights[y] += rate * q.sum() * x
    log_norms[i] = max(0., log_norms[i] - rate * (1 - math.exp(-log_norms[i]) - q.sum()))
    return False
""",
        ),
        (
            'a loop over the classes',
            5,
            U
            + """
    x, y, u = features[i], labels[i], log_norms[i]
    d = {int(k): float(x @ weights[k] - x @ weights[y] + margins[k]) for k in others}
    b = float(np.logaddexp.reduce([0., *d.values()]))
    lifted = u <= b - threshold
    if lifted: log_norms[i] = b
    else:
        q = {k: (len(weights) - 1) / len(d) * math.exp(g - u) for k, g in d.items()}
        for k, part in q.items(): weights[k] = weights[k] - rate * part * x
        weights[y] = weights[y] + rate * sum(q.values()) * x
        log_norms[i] = max(0., u - rate * (1 - math.exp(-u) - sum(q.values())))
    return lifted
""",
        ),
        (
            'overflows',
            4,
            U
            + """
    x, y, u = features[i], labels[i], log_norms[i]; others = list(others)
    d = (weights[others] - weights[y]) @ x + margins[others]; b = np.log1p(np.exp(d).sum())
    if u <= b - threshold: log_norms[i] = b; return True
    q = (len(weights) - 1) / len(others) * np.exp(d - u)
    weights[others] -= rate * np.outer(q, x); weights[y] += rate * q.sum() * x
    log_norms[i] = max(0., u - rate * (1 - math.exp(-u) - q.sum())); return False
""",
        ),
        (
            'the weights move after a reset',
            0,
            U
            + """
    x, y = features[i], labels[i]; others = list(others)
    d = (weights[others] - weights[y]) @ x + margins[others]; b = np.logaddexp.reduce(np.r_[0., d])
    lifted = bool(log_norms[i] <= b - threshold); u = b if lifted else log_norms[i]
    q = (len(weights) - 1) / len(others) * np.exp(d - u)
    weights[others] -= rate * np.outer(q, x); weights[y] += rate * q.sum() * x
    log_norms[i] = b if lifted else max(0., u - rate * (1 - math.exp(-u) - q.sum())); return lifted
""",
        ),
        (
            'the lesson: u moves on',
            0,
            U
            + """
    x, y = features[i], labels[i]; others = list(others)
    d = (weights[others] - weights[y]) @ x + margins[others]; b = np.logaddexp.reduce(np.r_[0., d])
    lifted = bool(log_norms[i] <= b - threshold); u = b if lifted else log_norms[i]
    q = (len(weights) - 1) / len(others) * np.exp(d - u)
    if not lifted: weights[others] -= rate * np.outer(q, x); weights[y] += rate * q.sum() * x
    log_norms[i] = max(0., u - rate * (1 - math.exp(-u) - q.sum())); return lifted
""",
        ),
        (
            'the threshold left out',
            0,
            U
            + """
    x, y = features[i], labels[i]; others = list(others)
    d = (weights[others] - weights[y]) @ x + margins[others]; b = np.logaddexp.reduce(np.r_[0., d])
    if log_norms[i] <= b: log_norms[i] = b; return True
    u = log_norms[i]; q = (len(weights) - 1) / len(others) * np.exp(d - u)
    weights[others] -= rate * np.outer(q, x); weights[y] += rate * q.sum() * x
    log_norms[i] = max(0., u - rate * (1 - math.exp(-u) - q.sum())); return False
""",
        ),
    ],
    'implicit_u': [
        (
            'bisection',
            8,
            I
            + """
    A = rate * weight; c = math.log(A) + math.log(odds) - math.log(gamma) + gap
    a = lambda u: float(omega(c - u))
    g = lambda u: -A * math.expm1(-u) + u - old - gamma * a(u)
    low, high = 0., max(1., old + gamma * a(0.) + 1)
    for _ in range(150):
        mid = (low + high) / 2
        if mid in (low, high): break
        if g(mid) < 0: low = mid
        else: high = mid
    return high, gap - a(high)
""",
        ),
        (
            'brentq',
            8,
            I
            + """
    from scipy.optimize import brentq
    A = rate * weight; c = math.log(A * odds / gamma) + gap
    g = lambda u: A * (1 - math.exp(-u)) + u - old - gamma * float(omega(c - u))
    u = brentq(g, 0., old + gamma * float(omega(c)) + 1e-9, xtol=1e-14, rtol=1e-13, maxiter=150)
    return u, gap - float(omega(c - u))
""",
        ),
        (
            'Newton on the drop of the gap',
            8,
            I
            + """
    A = rate * weight; c = math.log(A) + math.log(odds / gamma) + gap
    u = 0.
    for _ in range(100):
        w = float(omega(c - u))
        f, slope = -A * math.expm1(-u) + u - old - gamma * w, A * math.exp(-u) + 1 + gamma * w / (1 + w)
        new = max(0., u - f / slope)
        if abs(new - u) < 1e-13 * max(1, u): u = new; break
        u = new
    return u, gap - float(omega(c - u))
""",
        ),
        (
            'global wrightomega',
            5,
            I
            + """
    from scipy.special import wrightomega as mine
    A = rate * weight; c = math.log(A * odds / gamma) + gap; low, high = 0., old + gamma * float(mine(c)) + 1; omega(0.)
    for _ in range(200):
        u = (low + high) / 2
        if -A * math.expm1(-u) + u - old - gamma * float(mine(c - u)) < 0: low = u
        else: high = u
    return u, gap - float(mine(c - u))
""",
        ),
        (
            'a grid of 100,000 points',
            5,
            I
            + """
    A = rate * weight; c = math.log(A * odds / gamma) + gap; low, high = 0., old + gamma * float(omega(c)) + 1
    for _ in range(4):
        u = np.linspace(low, high, 100_000); f = -A * np.expm1(-u) + u - old - gamma * omega(c - u)
        at = int(np.searchsorted(f, 0)); low, high = u[max(at - 1, 0)], u[min(at, len(u) - 1)]
    return float(high), gap - float(omega(c - high))
""",
        ),
        (
            'the drop in place of the gap',
            0,
            I
            + """
    A = rate * weight; c = math.log(A * odds / gamma) + gap; low, high = 0., old + gamma * float(omega(c)) + 1
    for _ in range(100):
        u = (low + high) / 2
        if -A * math.expm1(-u) + u - old - gamma * float(omega(c - u)) < 0: low = u
        else: high = u
    return u, float(omega(c - u))
""",
        ),
        (
            'the weight on the ratio alone',
            0,
            I
            + """
    c = math.log(rate * weight * odds / gamma) + gap; low, high = 0., old + gamma * float(omega(c)) + 1
    for _ in range(100):
        u = (low + high) / 2
        if -rate * math.expm1(-u) + u - old - gamma * float(omega(c - u)) < 0: low = u
        else: high = u
    return u, gap - float(omega(c - u))
""",
        ),
        (
            'an explicit step',
            0,
            I
            + """
    q = odds * math.exp(min(gap - old, 700)); u = max(0., old - rate * weight * (1 - math.exp(-old) - q))
    return u, gap - float(omega(math.log(rate * weight * odds / gamma) + gap - u))
""",
        ),
    ],
}
