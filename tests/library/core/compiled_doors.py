"""All compiled functions, and the doors to them: the public functions and classes that reach them,
which check what they are given. A fuzz calls every door with sizes, ids and types that do not fit.

    python tests/library/core/compiled_doors.py            write the list anew: compiled_doors.csv
    python tests/library/core/compiled_doors.py fuzz       the whole fuzz, with a count
"""

import ast
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

HERE = Path(__file__).parent
LIST = HERE / 'compiled_doors.csv'
# Building blocks that are public and check nothing, because they run inside other kernels.
BLOCKS = {
    'core.compiled prefetch',
    'core.linalg csr_dot',
    'core.linalg csr_axpy',
    'core.linalg softplus',
    'core.linalg omega',
    'core.linalg damped_log',
    'bound.quadratic_bound curvature_weight',
    'bound.quadratic_bound sort_outcomes',
    'softmax.implicit pair_step',
    'softmax.implicit set_step',
    'softmax.rotation piece_step',
}

# Doors that no call of the fuzz opens, each with its reason.
UNTRIED = {
    'softmax.support OnSupport': 'a part of SoftmaxClassifier, whose rows check_features reads; '
    'what it calls looks at them again'
}


# ------------------------------------------------------------------------------------- the list


def _compiled(node):
    for one in getattr(node, 'decorator_list', ()):
        one = one.func if isinstance(one, ast.Call) else one
        if getattr(one, 'id', getattr(one, 'attr', '')) == 'njit':
            return True
    return False


def _names(nodes):
    every = [each for node in nodes for each in ast.walk(node)]
    found = {each.id for each in every if isinstance(each, ast.Name)}
    return found | {each.attr for each in every if isinstance(each, ast.Attribute)}


class _Module:
    "What a module defines, exports and imports, and which names each definition uses."

    def __init__(self, path, root):
        tree = ast.parse(path.read_text(encoding='utf-8'))
        self.name = '.'.join(path.relative_to(root).with_suffix('').parts)
        self.kernels, self.uses, self.public, self.imports = set(), {}, set(), {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    self.imports[one.asname or one.name] = node.module.rsplit('.')[-1]
        for node in tree.body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    name = getattr(target, 'id', '')
                    if name == '__all__':
                        self.public = set(ast.literal_eval(node.value))
                    elif name:
                        self.uses[name] = _names([node.value])
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.uses[node.name] = _names([node]) - {node.name}
                if _compiled(node):
                    self.kernels.add(node.name)


def listing():
    "Kernel -> doors, each as 'module name'."
    import extreme_opt

    root = Path(extreme_opt.__file__).parent
    modules = [
        _Module(path, root) for path in sorted(root.rglob('*.py')) if path.name != '_modidx.py'
    ]
    users = defaultdict(list)
    for module in modules:
        for name, used in module.uses.items():
            for each in used:
                users[each].append((module, name))

    def doors(module, name, seen):
        found = set()
        for other, user in users[name]:
            source = module.name.rsplit('.')[-1]
            if other is not module and other.imports.get(name) != source or (other, user) in seen:
                continue
            seen.add((other, user))
            if user in other.public and user not in other.kernels:
                found.add(f'{other.name} {user}')
            else:
                found |= doors(other, user, seen)
        return found

    return {
        f'{module.name} {kernel}': sorted(doors(module, kernel, set()))
        for module in modules
        for kernel in sorted(module.kernels)
    }


def as_text(found):
    rows = [f'{kernel},{"; ".join(doors)}' for kernel, doors in found.items()]
    return '\n'.join(['kernel,doors', *rows]) + '\n'


# ------------------------------------------------------------------------------------- the doors


def _rows(n=12, d=5, kind=np.float64, dense=True):
    X = np.random.default_rng(0).random((n, d)).astype(kind)
    return X if dense else scipy.sparse.csr_array(X)


def one(call, **good):
    return [(call, good)]


def _double_sum(alpha=0.0, dense=True):
    from extreme_opt.softmax import DoubleSum

    return DoubleSum(_rows(dense=dense), np.arange(12) % 4, 4, ridge=0.1, alpha=alpha)


def _loop(loop, alpha=0.0, **more):
    "A sampled update of softmax on dense and on sparse rows."
    from extreme_opt.softmax.double_sum import Draw

    def call(params, sample, others, dense, **more):
        problem = _double_sum(alpha, dense)
        return loop(problem, params, Draw(sample, others), **more)

    sample = np.arange(6, dtype=np.int32)
    others = np.stack([(sample + 1) % 4, (sample + 2) % 4], 1).astype(np.int32)
    params = _double_sum(alpha).init_params().astype(float)
    return [
        (call, dict(params=params, sample=sample, others=others, dense=dense, rate=0.1, **more))
        for dense in (True, False)
    ]


def _exact():
    from extreme_opt.softmax.exact import FullSoftmaxByColumn, SquaredHingeByColumn, exact_updates

    def call(params, sample, kind, dense):
        problem = kind(_rows(dense=dense), np.arange(12) % 4, 4, ridge=0.1)
        return exact_updates(problem, params, sample, 0.1)

    sample, kinds = np.arange(6, dtype=np.int32), (FullSoftmaxByColumn, SquaredHingeByColumn)
    return [
        (call, dict(params=np.zeros(20), sample=sample, kind=kind, dense=dense))
        for kind in kinds
        for dense in (True, False)
    ]


def _at(name):
    from extreme_opt.softmax import double_sum

    def call(weights, sample, classes, dense, **more):
        problem, function = _double_sum(dense=dense), getattr(double_sum, name)
        return function(problem, weights, sample, classes, *more.values())

    sample, classes = np.arange(6, dtype=np.int32), np.ones((6, 2), np.int32)
    given = dict(weights=np.zeros((4, 5)), sample=sample, classes=classes)
    if name == 'add_rows':
        given['slopes'] = np.ones((6, 2))
    return [(call, given | dict(dense=dense)) for dense in (True, False)]


def _towers(name):
    from extreme_opt.similarity import MLP, AllPairs, towers

    problem = AllPairs(
        np.array([[0, 1], [2, 0], [3, 2]]), _rows(6, 3), n_right=4, n_components=2, left=MLP(3)
    )
    tower = problem.towers[0]
    params, rows = tower.init_params(np.random.default_rng(0)), np.array([0, 3, 5])
    given = dict(params=params, rows=rows)
    if name == 'jvp':
        given['direction'] = params.copy()
    if name == 'vjp':
        given['cotangents'] = np.ones((3, 2))
    return one(partial(getattr(towers, name), tower), **given)


def _support():
    "Weights on a support: what is made of rows, and what is done with it."
    from extreme_opt.softmax import support

    rows = _rows(dense=False)
    rows.data[::3] = 0
    rows.eliminate_zeros()
    labels, uniforms = np.arange(12) % 4, np.random.default_rng(3).random((6, 5))
    sample = np.arange(6)
    whole = support.support_of(rows, labels, 4)
    problem = support.SupportSoftmax(rows, labels, 4, ridge=0.1, height=1.0)

    def lists(indptr, columns, n_features, features, labels):
        made = support.Support(indptr, columns, n_features)
        return made.postings, made.cells_of(features, labels)

    def scored(coef, intercept, X, labels, k):
        model = support.PostingWeights(coef, intercept)
        return model.scores(X), model.top_k(X, k), model.log_losses(X, labels)

    def stepped(params, sample, uniforms, n_uniform, rate):
        batch = support.SupportDraw(sample, uniforms, n_uniform)
        problem.implicit_steps_(params, batch, rate)
        return problem.loss_at(params, batch), problem.grad_at(params, batch)

    def judged(params, rows, labels, features):
        made = support.SupportSoftmax(features, labels, 4, ridge=0.1, height=1.0)
        made.class_means(1.0, rows)
        return made.loss_on(params, rows), made.grad(params), support.missing_gain(made, params)

    labeled = dict(features=rows, labels=labels)
    coef = whole.as_matrix(np.ones(whole.n_cells))
    draw = dict(sample=sample, uniforms=uniforms, n_uniform=1, rate=0.1)
    params = problem.init_params()
    return {
        'support_of': [
            (support.support_of, labeled | dict(n_classes=4)),
            (support.support_of, labeled | dict(n_classes=4, before=whole)),
        ],
        'Support': one(lists, indptr=whole.indptr, columns=whole.columns, n_features=5, **labeled),
        'PostingWeights': one(scored, coef=coef, intercept=np.ones(4), X=rows, labels=labels, k=2),
        'SupportSoftmax': [
            (stepped, dict(params=params) | draw),
            (judged, dict(params=params, rows=sample) | labeled),
        ],
    }


def doors():
    "Door -> (call, good arguments) pairs."
    from extreme_opt import ordinal, similarity, softmax
    from extreme_opt.bound import class_space, structured
    from extreme_opt.bound.quadratic_bound import bound_rows
    from extreme_opt.core import linalg
    from extreme_opt.ordinal.comparisons import triplet_error
    from extreme_opt.similarity import problem as pairs_problem
    from extreme_opt.similarity import ranking, sampling
    from extreme_opt.softmax import double_sum, implicit, rivals, umax

    scores, labels = np.random.default_rng(1).normal(size=(6, 4)), np.arange(12) % 4
    triplets = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4], [4, 0, 1]])
    seen = scipy.sparse.csr_array((np.ones(6), (np.arange(6), np.arange(6) % 4)), shape=(6, 4))
    other = scipy.sparse.csr_array((np.ones(6), (np.arange(6), (np.arange(6) + 1) % 4)))
    observed = np.column_stack([np.arange(6), np.arange(6) % 4])
    chain = class_space.class_chain(scores)
    zero = np.zeros(20)

    def all_pairs(observed, left, **more):
        linear = similarity.Linear()
        towers = dict(left=linear, right=linear, n_right=4, n_components=2)
        return similarity.AllPairs(observed, left, **towers, **more)

    def fitted(observed, labels, weights, solver):
        model = similarity.SimilarityModel(2, solver=solver, loss='squared', max_iter=1)
        return model.fit(observed, labels=labels, pair_weights=weights)

    pairs = all_pairs(observed, None, n_left=6)
    sample = sampling.block_sample(pairs.terms, np.array([0, 1, 3]), np.array([1, 3]))

    def sampled(params, **fields):
        return sampling.sampled_gradient(pairs, params, sample._replace(**fields))

    def curvature(kind, features, n_classes, ridge, anchor, vector, **more):
        made = kind(features, n_classes, ridge, anchor, **more)
        return made.times(vector), made.matrix()

    def curved(kind, **more):
        given = dict(features=_rows(6, 3), n_classes=4, ridge=np.ones(3), anchor=np.ones(3))
        return one(partial(curvature, kind), vector=np.ones(12), **given | more)

    def rival(kind, params, sample, classes, dense):
        problem = kind(_rows(dense=dense), labels, 4, n_negatives=2)
        batch = double_sum.Draw(sample, classes)
        problem.sgd_steps_(params, batch, 0.1)
        return problem.loss_on(params, sample), problem.grad_at(params, batch)

    def rivals_of(kind):
        draw = kind(_rows(), labels, 4, n_negatives=2).draw(np.random.default_rng(0), 6)
        given = dict(params=zero, sample=np.array(draw[0]), classes=np.array(draw[1]))
        return [(partial(rival, kind), given | dict(dense=dense)) for dense in (True, False)]

    def stepped(params, observed, left, solver):
        from extreme_opt.core import minimize

        problem = all_pairs(observed, left, n_left=6)
        return minimize(problem, solver, params, max_iter=1)

    def sampled_by(solver):
        return one(partial(stepped, solver=solver), params=zero, observed=observed, left=None)

    def rotated(X, y, method):
        model = softmax.SoftmaxClassifier('rotation', max_epochs=1, learning_rate=0.1)
        return getattr(model.fit(X, y), method)(X)

    def embedded(triplets, solver):
        return ordinal.OrdinalEmbedding(2, solver=solver, max_iter=2).fit(triplets)

    starts = np.array([0, 2, 6])
    losses = [ordinal.STE(), ordinal.SOE(), ordinal.TSTE(), ordinal.CKL(), ordinal.Hinge()]

    def loss_of_triplets(params, triplets=triplets, loss=losses[0], weights=None):
        problem = ordinal.Comparisons(triplets, 2, loss, 5, weights=weights)
        return problem.loss_and_grad(params)

    def loss_of_pairs(observed, left, params, **more):
        return all_pairs(observed, left, **more).loss_and_grad(params)

    def chain_times(vectors, **fields):
        return class_space.chain_times(chain._replace(**fields), vectors)

    def chain_curvature(vectors, **fields):
        changed = chain._replace(**fields)
        made = class_space.ChainCurvature(_rows(6, 3), 4, np.ones(3), np.ones(3), chain=changed)
        return made.class_times(vectors)

    def tagged(params, X, y, starts):
        return structured.LinearChain(X, y, starts, 4).loss_and_grad(params)

    def ranked(table, **more):
        return ranking.top_k(lambda ids: table[ids], n_right=4, **more)

    def measured(table, test, seen):
        return ranking.measures_by_row(lambda ids: table[ids], test, seen, ['auc', 'ndcg@2'])

    def checked(problem, params, draw, rate):
        double_sum.check_draw(problem, draw)

    def bounded(X, y):
        return double_sum.optimum_bounds(softmax.DoubleSum(X, y, 4, ridge=0.1))

    labeled = dict(observed=observed, labels=np.ones(6))
    scored = dict(scores=scores, transitions=np.eye(4))
    vectors = dict(vectors=scores.copy()) | chain._asdict()
    rivals_ = (rivals.ImportanceSampled, rivals.NCE, rivals.OneVsEach)
    return {
        'bound.class_space class_chain': one(class_space.class_chain, scores=scores),
        'bound.class_space chain_times': one(chain_times, **vectors),
        'bound.class_space ClassCurvature': curved(class_space.ChainCurvature, chain=chain),
        'bound.class_space ChainCurvature': [
            *curved(class_space.ChainCurvature, chain=chain),
            (chain_curvature, vectors),
        ],
        'bound.class_space LossCurvature': curved(
            class_space.LossCurvature, proba=np.full((6, 4), 0.25), weights=np.ones(6)
        ),
        'bound.quadratic_bound bound_rows': one(bound_rows, features=_rows(4, 3), scores=scores[0]),
        'bound.structured forward_backward': one(
            structured.forward_backward, starts=starts, **scored
        ),
        'bound.structured best_labels': one(structured.best_labels, starts=starts, **scored),
        'bound.structured chain_bound': one(structured.chain_bound, **scored),
        'bound.structured LinearChain': one(
            tagged, params=np.zeros(36), X=_rows(), y=labels, starts=np.array([0, 5, 12])
        ),
        'core.linalg wright_omega': one(linalg.wright_omega, t=scores),
        'core.linalg squared_row_norms': [
            (linalg.squared_row_norms, dict(features=_rows(dense=dense))) for dense in (True, False)
        ],
        'ordinal.comparisons triplet_error': one(
            triplet_error, embedding=_rows(5, 2), triplets=triplets
        ),
        'ordinal.embedding OrdinalEmbedding': one(
            lambda asked: embedded(triplets, 'lbfgs').score(asked), asked=triplets
        ),
        'ordinal.losses PairLoss': [
            (partial(loss_of_triplets, loss=loss), dict(params=np.ones(10))) for loss in losses
        ],
        'ordinal.problem Comparisons': [
            (loss_of_triplets, dict(triplets=triplets, weights=np.ones(4), params=np.ones(10))),
            *[
                (embedded, dict(triplets=triplets, solver=name))
                for name in ('svrg', 'sgd', 'lbfgs')
            ],
        ],
        'similarity.als ALS': one(fitted, solver='als', weights=np.ones(6), **labeled),
        'similarity.problem AllPairs': [
            (loss_of_pairs, dict(left=_rows(6, 3), params=np.ones(14), **labeled)),
            (fitted, dict(solver='newton', weights=np.ones(6), **labeled)),
        ],
        'similarity.problem half_square': one(pairs_problem.half_square, params=zero),
        'similarity.ranking top_k': one(
            ranked, rows=np.arange(6), table=np.ones((6, 4)), seen=seen, k=2
        ),
        'similarity.ranking measures_by_row': one(
            measured, table=np.ones((6, 4)), test=other, seen=seen
        ),
        'similarity.sampling sampled_gradient': one(sampled, params=zero, **sample._asdict()),
        **{f'similarity.towers {name}': _towers(name) for name in ('forward', 'jvp', 'vjp')},
        'softmax.double_sum add_rows': _at('add_rows'),
        'softmax.double_sum scores_at': _at('scores_at'),
        'softmax.double_sum check_draw': _loop(checked),
        'softmax.double_sum optimum_bounds': one(bounded, X=_rows(), y=labels),
        'softmax.exact exact_updates': _exact(),
        'softmax.implicit implicit_updates': _loop(implicit.implicit_updates),
        **{f'softmax.rivals {kind.__name__}': rivals_of(kind) for kind in rivals_},
        'similarity.sogram SOGram': sampled_by(similarity.SOGram()),
        'similarity.sampling PairSGD': sampled_by(similarity.PairSGD()),
        'similarity.sampling BlockSGD': sampled_by(similarity.BlockSGD()),
        'softmax.rotation visit': one(rotated, X=_rows(), y=labels, method='predict'),
        **{f'softmax.support {name}': calls for name, calls in _support().items()},
        'softmax.umax umax_updates': _loop(umax.umax_updates),
    }


def _wild(value):
    "Columns that a sparse matrix has not, which SciPy does not look for."
    ids = value.indices
    return {
        'negative columns': ids - 5,
        'far below zero': ids - 10**9,
        'columns too large': ids + 10**9,
        'one column too large': np.where(ids == ids.max(), value.shape[1], ids).astype(ids.dtype),
        'columns turned': ids[::-1].copy(),
    }


def changed(value):
    "What does not fit in place of a value, by name."
    if isinstance(value, list):
        return {'none of a list': [], 'one of a list': value[:1], 'numbers': [1, 2]}
    if isinstance(value, bool) or isinstance(value, str):
        return {}
    if isinstance(value, (int, float)):
        return {'negative': -7, 'large': 10**6, 'text': 'a', 'None': None, 'nan': float('nan')}
    if scipy.sparse.issparse(value):
        found = {'other shape': value[:-1], 'dense': value.toarray(), 'no matrix': None}
        for how, ids in _wild(value).items():
            found[how] = value.copy()
            found[how].indices = ids
        found['rows beyond the end'] = value.copy()
        found['rows beyond the end'].indptr[-1] += 10**9
        found['rows that go back'] = value.copy()
        found['rows that go back'].indptr[1] = 10**9
        return found
    if not isinstance(value, np.ndarray):
        return {'None': None, 'text': 'a'}
    found = {
        'shorter': value[:-1],
        'empty': value[:0],
        'longer': np.concatenate([value, value]),
        'more dimensions': value[..., None],
        'flat': value.ravel()[: max(1, value.size // 2)],
        'text': 'a',
        'list of text': ['a'] * len(value),
        'None': None,
        'objects': value.astype(object),
        'backwards': value[::-1],
        'read only': np.frombuffer(value.tobytes(), value.dtype).reshape(value.shape),
    }
    if value.ndim > 1:
        found['narrow'] = value[:, :-1]
        found['turned'] = value.T
    if value.dtype.kind in 'iu':
        return found | {
            'negative ids': value - 5,
            'far below zero': value - 10**9,
            'ids too large': value + 10**9,
            'one too large': np.where(value == value.max(), 2**31 - 2, value).astype(value.dtype),
            'wide ids': value.astype(np.int64) + 2**40,
            'half ids': value + 0.5,
        }
    return found | {
        'nan': value * np.nan,
        'huge': value + 1e300,
        'inf': value + np.inf,
        'float32': value.astype(np.float32),
    }


def cases(few=None):
    "(name, work) of each call that does not fit; any error or answer is fine, a signal is not."
    for door, calls in doors().items():
        for k, (call, good) in enumerate(calls):
            wrong = [(name, how, new) for name in good for how, new in changed(good[name]).items()]
            if few is not None:
                some = np.random.default_rng(len(wrong)).permutation(len(wrong))[:few]
                wrong = [wrong[at] for at in sorted(some)]

            def work(call=call, given=None):
                import warnings

                warnings.simplefilter('ignore')
                try:
                    call(**given)
                except Exception as error:
                    return f'{type(error).__name__}'
                return 'an answer'

            def copied(value):
                return value.copy() if isinstance(value, np.ndarray) else value

            fit = {name: copied(value) for name, value in good.items()}
            yield f'{door} {k}, as it should be', lambda call=call, fit=fit: (call(**fit), None)[1]
            for name, how, new in wrong:
                given = {each: copied(value) for each, value in good.items()} | {name: new}
                yield (
                    f'{door} {k}, {name}: {how}',
                    lambda work=work, given=given: work(given=given),
                )


def fuzz(few=None):
    "Cases, and those that died, hung, or did not take what fits."
    sys.path.insert(0, str(HERE.parent / 'package'))
    from fuzz_reliability import in_child

    n, bad = 0, []
    for name, outcome, text in in_child(cases(few), 120):
        n += 1
        if outcome != 'held':
            bad.append(f'{name}: {outcome} {text}')
    return n, bad


if __name__ == '__main__':
    if 'fuzz' in sys.argv:
        n, bad = fuzz()
        print('\n'.join(bad))
        print(f'{n} calls at {len(doors())} doors: {len(bad)} do not hold')
    else:
        LIST.write_text(as_text(listing()), encoding='utf-8')
        print(f'wrote {LIST}')
