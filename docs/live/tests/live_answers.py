"Right answers to the exercises that the site checks (assignments/checks), by page and number."

ANSWERS = {
    ('learn/00_primer', 1): '''
import numpy as np
def equal_scores(n_classes):
    return np.log(n_classes), 1 / n_classes - np.eye(1, n_classes)[0]
''',
    ('learn/00_primer', 3): '''
import numpy as np
def wide_parabola(points, at):
    return np.logaddexp(0, at) + (points - at) / (1 + np.exp(-at)) + (points - at) ** 2 / 8
''',
    ('softmax/10_double_sum', 1): '''
def beta(n_samples, n_classes):
    return n_classes / 2
''',
    ('softmax/10_double_sum', 4): '''
def factor(n_classes, m):
    return (n_classes - 1) / m
''',
    ('softmax/10_double_sum', 7): '''
import numpy as np
def extreme_weights(n_classes, n_features):
    W = np.zeros((n_classes, n_features))
    W[0], W[1] = 1, -1
    return W
''',
    ('softmax/20_why_sgd_overflows', 1): '''
import numpy as np
def resting_point(gaps):
    return np.log1p(np.exp(gaps).sum())
''',
    ('softmax/30_umax', 1): '''
import numpy as np
def resets(u, gaps, threshold):
    return np.exp(-u) + np.exp(gaps - u).sum() >= np.exp(threshold)
''',
    ('softmax/30_umax', 3): '''
import math
def decrease(gap, n_classes, m, threshold):
    Z = 1 + (n_classes - 1) * math.exp(gap)
    return Z / (1 + m * math.exp(gap)) * (math.exp(threshold) - 1) - threshold
''',
    ('softmax/40_implicit', 4): '''
def ridge_step(other, label, x, delta, rate, ridge):
    rho = 1 / (1 + rate * ridge)
    return rho * (other - delta * x), rho * (label + delta * x)
''',
    ('softmax/45_bias', 1): '''
def steps_until_equal(noise, bias):
    return (noise / bias) ** 2
''',
    ('softmax/45_bias', 2): '''
def fixed_point(xi, curvature, rate):
    weights = curvature / (1 + rate * curvature)
    return (weights * xi).sum() / weights.sum()
''',
    ('softmax/50_negative_sampling', 5): '''
import numpy as np
def minimizing_scores(p, q):
    return np.log(p / q)
''',
    ('softmax/60_variance', 1): '''
def best_m(rows, classes, c):
    return (c * classes / rows) ** 0.5
''',
    ('softmax/60_variance', 4): '''
def best_probabilities(lengths):
    return lengths / lengths.sum()
''',
    ('softmax/70_classifier', 4): '''
import numpy as np
def weights_of_iterates(t):
    return np.arange(1, t + 1) / (t * (t + 1) / 2)
''',
    ('softmax/80_scoring', 1): '''
def scores_of_frequencies(pi):
    import numpy as np
    return -(pi * np.log(pi)).sum(), pi.max(), 1 / len(pi)
''',
    ('softmax/80_scoring', 5): '''
import math
def least_loss(p_y, n_classes):
    rest = (1 - p_y) / (n_classes - 1)
    return math.log(math.exp(p_y) + (n_classes - 1) * math.exp(rest)) - p_y
''',
    ('bound/10_two_outcomes', 2): '''
import numpy as np
from scipy.optimize import brentq
def gap_of_excess(share):
    return brentq(lambda xi: np.sinh(xi) / xi - 1 - share, 1e-6, 50)
''',
    ('bound/20_chain', 2): '''
import math
def chain_curvature(log_weight, feature):
    beta = math.tanh(log_weight / 2) / (2 * log_weight) if log_weight else 0.25
    return beta * (feature + 1) ** 2
''',
    ('bound/30_majorization', 3): '''
def factor_of_mean(n_samples):
    return 1 - n_samples
''',
    ('bound/30_majorization', 5): '''
def example():
    return [[1, -1], [-1, 4]], [-3, 2]
''',
    ('bound/40_class_space', 3): '''
import numpy as np
from scipy.special import expit
from extreme_opt.bound.plain.class_space import class_chain
def class_matrix(scores):
    order, join, weight = (one[0] for one in class_chain(scores[None]))
    n = len(scores)
    S, m = np.zeros((n, n)), np.ones(1)  # m: probabilities of the classes so far
    means = []
    for b in range(n):
        means.append(m)
        later = (1 - join[b + 1:]) ** 2
        G = sum(weight[j] * np.prod(later[: j - b - 1]) for j in range(b + 1, n))
        if b:
            S[:b, b] = m * ((1 - join[b]) * join[b] * G - weight[b])
        S[b, b] = weight[b] + join[b] ** 2 * G if b else G
        m = np.append((1 - join[b]) * m, join[b]) if b else np.ones(1)
    S += np.triu(S, 1).T
    out = np.zeros((n, n))
    out[np.ix_(order, order)] = S
    return out
''',
    ('bound/40_class_space', 4): '''
import numpy as np
def eigenvalues(n_classes):
    def beta(x):
        return np.tanh(x / 2) / (2 * x) if x else 0.25
    return sorted([0, *(beta(np.log(j - 1)) * (1 + 1 / (j - 1)) for j in range(2, n_classes + 1))])
''',
    ('bound/50_stochastic', 4): '''
import numpy as np
def mean_step(A, g, p):
    mean = np.linalg.inv(A.mean(axis=0))
    w = mean @ g.mean(axis=0)
    return w - mean @ np.mean([a @ mean @ (b - a @ w) for a, b in zip(A, g)], axis=0) / p
''',
    ('bound/50_stochastic', 5): '''
def kept(rate):
    return 1 - rate
''',
    ('bound/60_memory', 1): '''
def sure_decrease(gradient, inverse):
    return gradient @ inverse @ gradient / 2
''',
    ('bound/60_memory', 3): '''
import numpy as np
def inverse_after(K, s, y):
    t = K @ s
    return K - np.outer(t, t) / (s @ t) + np.outer(y, y) / (s @ y)
''',
    ('bound/70_sequences', 1): '''
import numpy as np
def best_labeling(scores, transitions):
    value, back = scores[0], []
    for row in scores[1:]:
        ways = value[:, None] + transitions
        back.append(ways.argmax(axis=0))
        value = row + ways.max(axis=0)
    tags = [value.argmax()]
    for came in reversed(back):
        tags.append(came[tags[-1]])
    return tags[::-1]
''',
    ('bound/70_sequences', 4): '''
def trace_apart(n_tags, n_positions, beta):
    return beta * (n_tags ** (n_positions - 1) - 1) / (n_tags - 1)
''',
    ('bound/90_convergence', 1): '''
import math
def steps_needed(ridge_share, reduction):
    return math.ceil(math.log(reduction) / math.log(1 + ridge_share))
''',
    ('bound/90_convergence', 2): '''
def worst_weights(n_outcomes):
    return [1, *(2**i for i in range(n_outcomes - 1))]
''',
    ('similarity/10_two_towers', 4): '''
import numpy as np
def weighted_loss(P, Q, pairs, omega, c, b):
    rows, columns = pairs.T
    s = (P[rows] * Q[columns]).sum(1)
    seen = np.logaddexp(0, -s) - omega / 2 * b[columns] * (c - s) ** 2
    square = ((P.T @ P) * (Q.T @ (b[:, None] * Q))).sum()
    square += c**2 * len(P) * b.sum() - 2 * c * P.sum(0) @ (b @ Q)
    return seen.sum() + omega / 2 * square
''',
    ('similarity/10_two_towers', 6): '''
def n_different(k):
    return k * (k + 1) * (k + 2) // 6
''',
    ('similarity/20_gramian_gradient', 2): '''
def embedding_without_interactions(Q, c):
    return c * Q.sum() / (Q**2).sum()
''',
    ('similarity/20_gramian_gradient', 6): '''
import numpy as np
def best_row(Q, items, omega, ridge):
    own = Q[items]
    matrix = omega * Q.T @ Q + (1 - omega) * own.T @ own + ridge * np.eye(Q.shape[1])
    return np.linalg.solve(matrix, own.sum(0))
''',
    ('similarity/30_first_fit', 1): '''
import numpy as np
def by_hand(ranks, n_relevant):
    hits = [rank for rank in sorted(ranks) if rank <= 5]
    recall = len(hits) / n_relevant
    gain = sum(1 / np.log2(1 + rank) for rank in hits)
    most = sum(1 / np.log2(1 + rank) for rank in range(1, min(5, n_relevant) + 1))
    precision = sum((n + 1) / rank for n, rank in enumerate(hits)) / min(5, n_relevant)
    shares = [sum(rank <= k for rank in ranks) / k for k in range(1, 6)]
    return recall, gain / most, precision, np.mean(shares)
''',
    ('similarity/30_first_fit', 5): '''
def mean_precision(rank):
    return sum(1 / k for k in range(rank, 6)) / 5
''',
    ('similarity/40_curvature', 6): '''
import numpy as np
def curvature_of_linear_tower(U, a, Q, b, omega, ridge):
    left, right = U.T @ (a[:, None] * U), Q.T @ (b[:, None] * Q)
    return omega * np.kron(left, right) + ridge * np.eye(len(left) * len(right))
''',
    ('similarity/50_gauss_newton', 4): '''
import numpy as np
from scipy.optimize import brentq
def trust_region(G, g, radius):
    def step(mu):
        return -np.linalg.solve(G + mu * np.eye(len(g)), g)
    if np.linalg.norm(step(0)) <= radius:
        return step(0)
    return step(brentq(lambda mu: np.linalg.norm(step(mu)) - radius, 0, 1e6, xtol=1e-12))
''',
    ('similarity/60_diagonal', 2): '''
def length(rate, stabilizer):
    return rate * stabilizer**0.5
''',
    ('similarity/60_diagonal', 5): '''
import numpy as np
def losing_problem():
    rng = np.random.default_rng(0)
    start, R = rng.normal(size=50), np.linalg.qr(rng.normal(size=(50, 50)))[0]
    return R.T * np.geomspace(100, 1, 50) @ R, R.T @ start
''',
    ('similarity/70_sampling', 1): '''
def expected(n_interactions, rho):
    return rho**2 * n_interactions, rho * n_interactions
''',
    ('similarity/80_cold_start', 2): '''
import numpy as np
def first_five(P, Q, page):
    scores = P[page] @ Q.T
    scores[page] = -np.inf
    return np.argsort(-scores)[:5]
''',
    ('similarity/80_cold_start', 6): '''
import numpy as np
def gramian(products, U, c):
    mixed = c**0.5 * products @ U.T
    return np.block([[c * products, mixed], [mixed.T, U @ products @ U.T]])
''',
    ('ordinal/10_comparisons', 2): '''
import numpy as np
def enough(distances):
    order = np.argsort(distances)
    return list(zip(order, order[1:]))
''',
    ('ordinal/10_comparisons', 6): '''
import numpy as np
def map_of_ranks(ranks):
    n = len(ranks)
    C = np.eye(n) - 1 / n
    lowest = np.linalg.eigvalsh(-C @ ranks @ C / 2)[0]
    squares = ranks + 2 * abs(lowest) * (1 - np.eye(n))
    values, vectors = np.linalg.eigh(-C @ squares @ C / 2)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, 1:]
''',
    ('ordinal/20_triplet_loss', 3): '''
import numpy as np
def hinge_gradient(X, triplets):
    out = np.zeros_like(X)
    for i, j, k in triplets:
        near, far = X[i] - X[j], X[i] - X[k]
        if 1 + near @ near - far @ far > 0:
            out[i] += 2 * near - 2 * far
            out[j] -= 2 * near
            out[k] += 2 * far
    return out
''',
    ('ordinal/30_svrg', 2): '''
def share_of_variance(n_terms, batch):
    return (n_terms - batch) / (n_terms - 1)
''',
    ('ordinal/40_barzilai_borwein', 3): '''
import numpy as np
def infinite_direction(H):
    diagonal, move = np.diag(H), np.zeros(len(H))
    up, down = diagonal.argmax(), diagonal.argmin()
    move[up], move[down] = diagonal[up] ** -0.5, (-diagonal[down]) ** -0.5
    return move
''',
    ('ordinal/50_losses', 2): '''
def strongest(b, mu):
    return b + 2 * mu
''',
    ('ordinal/50_losses', 6): '''
import math
def best_difference(yes, no):
    return math.log(yes / no)
''',
    ('ordinal/60_which_question', 1): '''
import numpy as np
from scipy.optimize import brentq
def half_a_bit():
    return brentq(lambda p: -p * np.log2(p) - (1 - p) * np.log2(1 - p) - 0.5, 1e-9, 0.5)
''',
    ('ordinal/70_maps', 6): '''
def most_regions(k):
    return 1 + k + k * (k - 1) // 2
''',
    ('ordinal/90_proof', 1): '''
def factor(n_terms, batch):
    return (n_terms - batch) / (batch * (n_terms - 1))
''',
    ('ordinal/90_proof', 6): '''
import numpy as np
from scipy.optimize import minimize_scalar
from extreme_opt.ordinal.plain.proof import lyapunov
def best_beta(*how):
    def worst(log_beta):
        return -lyapunov(*how, beta=np.exp(log_beta))[1].min()
    return np.exp(minimize_scalar(worst, bounds=(-10, 5), method='bounded').x)
''',
}
