"""Figures and sliders: one style per solver, the same bytes each time, knobs that move without a
kernel."""

import base64
import html
import io
import itertools
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from refusals import refuses

plt = pytest.importorskip('matplotlib.pyplot')
widgets = pytest.importorskip('ipywidgets')
from extreme_opt.show import (  # noqa: E402
    aligned,
    bound_picture,
    color_of,
    convergence,
    embedding_map,
    embedding_maps,
    error_curve,
    frames,
    label_points,
    live,
    spectrum,
    style,
    style_of,
)
from extreme_opt.show.plots import _STYLES, PALETTE  # noqa: E402

MEET = [
    'SGD UMax ImplicitSGD OneVsEach NCE ImportanceSampled FullSoftmax LBFGS',  # one figure
    'GradientDescent Adagrad GaussNewton BlockSGD PairSGD SOGram LBFGS',
    'FixedStep BB SBB Damped GradientDescent SGD ProjectedGradient',
    'STE TSTE CKL Hinge SOE',
    ('Majorizer StochasticMajorizer IncrementalMajorizer Newton LBFGS SGD GradientDescent'),
]
BLIND = dict(
    protan=[[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    deutan=[[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
)


def draw(width=1.0, shift=0):
    "A parabola, drawn on the current figure."
    grid = np.linspace(-width, width, 50)
    plt.plot(grid, (grid - shift) ** 2)


@pytest.mark.parametrize('group', MEET, ids=['softmax', 'similarity', 'steps', 'losses', 'bound'])
def test_solvers_that_meet_differ(group):
    """In one figure no two colors are the same, nor do they become so to a color-blind eye; on gray
    paper line and marker differ."""
    names = group.split()
    assert len({color_of(name) for name in names}) == len(names)
    assert len({(style['linestyle'], style['marker']) for style in map(style_of, names)}) == len(
        names
    )
    apart([color_of(name) for name in names], names)


def apart(colors, names=None):
    "No two colors look the same to an eye without red or green cones."
    names = names or colors
    rgb = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for kind, matrix in BLIND.items():
        seen = np.clip(light @ np.array(matrix).T, 0, 1)
        seen = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
        far = np.linalg.norm(seen[:, None] - seen, axis=2) + 9 * np.eye(len(names))
        assert far.min() > 0.1, (
            kind,
            names[far.argmin() // len(names)],
            names[far.argmin() % len(names)],
        )


def test_a_solver_is_known_by_many_names():
    "Class, object, alias and a name with more words after it give one style."
    from extreme_opt.core import SGD, GradientDescent

    for one in (SGD, 'sgd', 'SGD', 'SGD, rate 0.1', 'sgd (float32)'):
        assert style_of(one) == style_of('SGD'), one
    adagrad = style_of(GradientDescent(scaling='adagrad'))
    assert style_of(GradientDescent()) == style_of('gd') != adagrad == style_of('AdaGrad')

    class SVRG:
        step_rule = type('SBB', (), {})()

    class Classifier:
        solver = 'umax'

    assert style_of(SVRG()) == style_of('sbb') and style_of(Classifier()) == style_of('U-max')
    assert style_of('L-BFGS') == style_of('lbfgs')
    assert color_of('nearest centroid') == PALETTE['gray']


def test_every_style_is_drawable_and_unique():
    "The table holds each style once, and matplotlib knows them all, those of unknown names too."
    assert len({tuple(style_of(name).values()) for name in _STYLES}) == len(_STYLES)
    for name in [*_STYLES, *(f'method {i}' for i in range(40))]:
        plt.plot([0, 1], **style_of(name))
    plt.close('all')


class Record:
    "A run with two columns."

    def __init__(self, losses):
        self.rows = dict(
            epoch=np.arange(len(losses)), iter=np.arange(len(losses)), loss=np.array(losses)
        )

    def column(self, name):
        return self.rows[name]


def test_convergence():
    """Lines carry the style of their solver, the axes their names, and a floor makes the gap
    logarithmic."""
    runs = {
        'UMax': Record([3.0, 2.0, 1.0]),
        'SGD': Record([3.0, 2.5, np.nan]),
        'SGD, slower': Record([3.0, 2.9, 2.8]),
    }
    axes = convergence(runs, unit='nats', axes=plt.figure().gca())
    assert [line.get_color() for line in axes.lines] == [
        color_of(name) for name in ('UMax', 'SGD', 'SGD')
    ]
    assert axes.lines[1].get_alpha() > axes.lines[2].get_alpha()
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == (
        'epoch',
        'loss (nats)',
        'linear',
    )
    gap = convergence(runs, against='iter', floor=1.0, axes=plt.figure().gca())
    np.testing.assert_allclose(gap.lines[0].get_ydata(), [2, 1, np.nan])
    assert (gap.get_xlabel(), gap.get_ylabel(), gap.get_yscale()) == ('iter', 'loss above 1', 'log')
    plt.close('all')
    refuses('runs is empty', convergence, {})


def axes():
    return plt.figure().gca()


def test_embedding_map():
    """Whatever turn, mirror, scale and shift a map has, it is drawn where the other map lies, with
    threads from point to point."""
    rng = np.random.default_rng(0)
    truth, turn = rng.normal(size=(9, 2)), np.array([[0.6, 0.8], [0.8, -0.6]])  # a mirror too
    np.testing.assert_allclose(aligned(3 * truth @ turn - 5, truth), truth, atol=1e-12)
    noisy = truth + 0.1 * rng.normal(size=truth.shape)
    best = ((aligned(noisy, truth) - truth) ** 2).sum()
    for angle in np.linspace(0, 2 * np.pi, 40):  # no other turn of it is nearer
        other = aligned(noisy, truth) - truth.mean(0)
        spin = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert ((other @ spin + truth.mean(0) - truth) ** 2).sum() >= best - 1e-12
    made = embedding_map(3 * truth @ turn - 5, list('abcdefghi'), onto=truth, axes=axes())
    threads, hollow, dots = made.lines
    np.testing.assert_allclose(dots.get_xydata(), truth, atol=1e-12)
    np.testing.assert_array_equal(hollow.get_xydata(), truth)
    assert len(threads.get_xdata()) == 27
    assert [text.get_text() for text in made.texts] == list('abcdefghi')
    assert hollow.get_marker() != dots.get_marker()
    assert len(embedding_map(truth, axes=axes()).lines) == 1
    plt.close('all')
    refuses(r'points has shape \(9, 3\)', embedding_map, np.zeros((9, 3)))
    refuses(r'onto has \(8, 2\)', lambda: embedding_map(truth, onto=truth[:8], axes=axes()))
    plt.close('all')


def crowd(n=30, seed=0):
    "Points in three heaps, names of unlike length."
    rng = np.random.default_rng(seed)
    points = 0.15 * rng.normal(size=(n, 2)) + rng.normal(size=(3, 2))[np.arange(n) % 3]
    return points, [f'object {"x" * (k % 5)}{k}' for k in range(n)]


def test_a_map_with_ellipses_groups_and_a_bar():
    rng = np.random.default_rng(0)
    points, names = crowd(9)
    draws = points + rng.normal(size=(400, 9, 2)) * [0.3, 0.1]
    draws[:, 8], points[8] = np.nan, np.nan  # an object without a place
    made = embedding_map(
        points, names, draws=draws, groups=list('aabbccabc'), scale='bar', unit='km', axes=axes()
    )
    rings = [line.get_xydata() for line in made.lines if len(line.get_xdata()) == 61]
    assert len(rings) == 8 and len(made.texts) == 8
    square = (rings[0] - rings[0].mean(0)) ** 2 @ np.array([1 / 0.3**2, 1 / 0.1**2])
    inside = square.mean() / (-2 * np.log(0.05))
    assert abs(inside - 1) < 0.15
    assert [text.get_text() for text in made.get_legend().get_texts()] == ['a', 'b', 'c']
    assert len(made.artists) == 1 and 'km' in made.artists[0].txt_label.get_text()
    for at in (points, -points, points * [1, -1], points[:, :1]):  # each corner; a line
        some = embedding_map(at, names, groups=list('aabbccabc'), scale='bar', axes=axes())
        some.figure.canvas.draw()
        boxes = [part.get_window_extent() for part in (some.get_legend(), *some.artists)]
        assert not boxes[0].overlaps(boxes[1])
    for wrong, words in (
        (dict(draws=draws[:, :3]), 'draws has shape'),
        (dict(groups=[1, 2]), 'groups has shape'),
        (dict(scale='km'), "scale='km' is neither"),
        (dict(share=1.5), 'share=1.5 is not between'),
        (dict(names=['a']), 'there are 1 names'),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            embedding_map(points, **{'names': names, **wrong}, axes=axes())
    plt.close('all')


def test_a_map_of_one_dimension_is_a_line_for_each_object():
    place = np.array([0.5, -1.0, 2.0])
    draws = place + np.random.default_rng(0).normal(size=(2000, 3))
    made = embedding_map(place, ['b', 'a', 'c'], draws=draws, scale='axes', axes=axes())
    assert [tick.get_text() for tick in made.get_yticklabels()] == ['a', 'b', 'c']
    bars = [line.get_xydata() for line in made.lines if len(line.get_xdata()) == 2]
    for ends, middle, height in zip(bars, place, (1, 0, 2)):
        np.testing.assert_allclose(ends[:, 0] - middle, [-1.96, 1.96], atol=0.2)
        assert (ends[:, 1] == height).all()
    plt.close('all')


def test_maps_side_by_side_are_laid_on_the_first_by_name():
    points, names = crowd(9)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    order = [8, 3, 1, 0, 7, 2]
    panels = embedding_maps(
        {'all': (points, names), 'some': (3 * points[order] @ turn + 5, [names[i] for i in order])},
        draws={'some': np.stack([3 * points[order] @ turn + 5] * 4)},
    )
    np.testing.assert_allclose(panels[1].lines[-1].get_xydata(), points[order], atol=1e-9)
    assert panels[0].get_xlim() == panels[1].get_xlim() and panels[1].get_title() == 'some'
    for wrong, words in (
        ({}, 'maps should be a dict'),
        ([points], 'maps should be a dict'),
        ({'a': (points[:, :1], names)}, 'a has one dimension'),
        ({'a': (points, names), 'b': (points, [f'z{n}' for n in names])}, 'b shares 0 places'),
    ):
        refuses(words, embedding_maps, wrong)
    numbered = embedding_maps({'a': (points, None), 'b': (points @ turn, None)})
    np.testing.assert_allclose(numbered[1].lines[-1].get_xydata(), points, atol=1e-9)
    embedding_map(points, names, axes=numbered[0])  # on axes that are shared
    unfitted = type('Map', (), {'fit': None})()
    refuses('Map is not fitted yet', lambda: embedding_map(unfitted, axes=axes()))
    plt.close('all')


def test_names_beside_points_do_not_cover_each_other():
    "Points as near as towns of a map, one that is not known; the limits of the axes stay."
    points = np.array([[0, 0], [0.02, 0.01], [0.04, -0.01], [0.02, 0.03], [1, 1], [np.nan, 0]])
    names = 'Calais Brussels Cologne Hook Athens Nowhere'.split()

    def covered(texts):
        "Largest share of a name that another one covers."
        figure.draw_without_rendering()
        extent = plt.Text.get_window_extent  # without the line that leads to a far point
        boxes = np.array([extent(one).extents for one in texts])
        low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
        both = np.prod(np.maximum(np.minimum(boxes[:, None, 2:], boxes[None, :, 2:]) - low, 0), 2)
        return (both / np.diag(both)[:, None])[~np.eye(len(boxes), dtype=bool)].max()

    figure, axes = plt.subplots(figsize=(4, 4))
    axes.plot(*points.T, 'o')
    limits = axes.axis()
    plain = [
        axes.annotate(name, at, xytext=(4, 3), textcoords='offset points', fontsize=7)
        for name, at in zip(names[:-1], points)
    ]
    assert covered(plain) > 0.5
    for one in plain:
        one.remove()
    assert label_points(points, names, axes=axes) is axes
    assert [one.get_text() for one in axes.texts] == names[:-1]
    assert covered(axes.texts) < 0.2
    assert axes.axis() == limits
    with pytest.raises(ValueError, match=r'points has shape \(6, 2\), but 5 names need \(5, 2\)'):
        label_points(points, names[:-1], axes=axes)
    plt.close(figure)


def test_a_curve_of_held_out_errors():
    class Errors(dict):
        n_components = 2

    made = error_curve(Errors({1: np.array([0.3, 0.4]), 2: np.array([0.1, 0.2])}), axes=axes())
    assert 'chosen: 2' in [text.get_text() for text in made.get_legend().get_texts()]
    assert len(error_curve({1: np.array([0.3, 0.4])}, axes=axes()).get_legend().get_texts()) == 1
    plt.close('all')


def test_bound_picture():
    """In 1-D both curves and their contact; in 2-D level lines of both at the same levels, solid
    and dashed."""

    def square(points):
        return (points**2).sum(1)

    def higher(points):
        return 2 * (points**2).sum(1)

    made = bound_picture(square, higher, 0.0, span=2.0, axes=axes())
    curve, parabola, touch = made.lines
    np.testing.assert_allclose(parabola.get_ydata(), 2 * curve.get_ydata())
    assert curve.get_linestyle() != parabola.get_linestyle() and list(touch.get_xdata()) == [0.0]
    assert curve.get_xdata()[[0, -1]].tolist() == [-2.0, 2.0]
    flat = bound_picture(square, higher, [0.0, 0.0], axes=axes())
    under, over = flat.collections
    np.testing.assert_array_equal(under.levels, over.levels)
    radius = [np.abs(lines.get_paths()[0].vertices).max() for lines in (under, over)]
    assert abs(radius[0] / radius[1] - 2**0.5) < 0.01  # the bound's level line lies inside
    assert [text.get_text() for text in flat.get_legend().get_texts()] == [
        'function',
        'bound',
        'touch',
    ]
    plt.close('all')
    refuses(r'touch has shape \(3,\)', bound_picture, square, higher, np.zeros(3))
    assert plt.get_fignums() == []


def test_spectrum():
    """Matrices give their singular values, vectors themselves, largest first, and rounding is no
    value."""
    made = spectrum({'SGD': np.diag([1.0, 4.0, 2.0]), 'UMax': [0.0, 3.0, 6.0]}, axes=axes())
    np.testing.assert_allclose(made.lines[0].get_ydata(), [1, 0.5, 0.25])
    np.testing.assert_allclose(made.lines[1].get_ydata(), [1, 0.5])
    np.testing.assert_allclose(
        spectrum([1.0, 8.0], relative=False, axes=axes()).lines[0].get_ydata(), [8, 1]
    )
    assert made.get_yscale() == 'log' and len(made.get_legend().get_texts()) == 2
    plt.close('all')
    refuses('is empty', spectrum, {})


def test_frames_stay_small():
    "Seven frames of a busy figure weigh less than 250 KB."

    def busy(k=0):
        for name, step in zip(_STYLES, np.linspace(0.1, 2, 6)):
            plt.plot(np.exp(-step * np.linspace(0, 3 + k, 60)), label=name, **style_of(name))
        plt.legend()
        plt.xlabel('passes')
        plt.ylabel('loss')
        plt.grid()

    made = frames(busy, k=range(7))
    assert len(made._repr_html_()) < 250_000


def test_pictures_are_the_same_in_every_process(tmp_path):
    "Two processes draw the same bytes, and none of them is a date or a version."
    code = (
        'import sys, matplotlib; matplotlib.use("Agg"); import matplotlib.pyplot as plt; from'
        ' extreme_opt.show import picture; f = plt.figure(); plt.plot([1, 3, 2]);'
        ' sys.stdout.buffer.write(picture(f))'
    )
    raw, options = [], dict(capture_output=True, check=True, timeout=120)
    for seed in ('1', '2'):
        env = {**os.environ, 'PYTHONHASHSEED': seed}
        raw.append(subprocess.run([sys.executable, '-c', code], env=env, **options).stdout)
    assert raw[0] == raw[1] and raw[0][:4] == b'\x89PNG' and b'tEXt' not in raw[0]
    assert b'tIME' not in raw[0]


def test_one_slider():
    "The slider starts at the default of its argument, and each position has its own figure."
    made = frames(draw, width=[0.5, 1.0, 2.0])
    assert made.start == [1] and made.labels == dict(width=['0.5', '1', '2'])
    assert len(set(made.pictures)) == 3
    page = made._repr_html_()
    assert page.count('type="range" min="0" max="2" value="1"') == 1
    assert '<output style="min-width: 4em">1</output>' in page
    shown = [image for image in re.findall('<img [^>]*>', page) if 'display: block' in image]
    assert len(shown) == 1 and base64.b64encode(made.pictures[1]).decode() in shown[0]
    assert 'alt="A parabola, drawn on the current figure. width 1"' in shown[0]
    assert repr(made) == 'Frames(width=3)'
    assert page.count('data-lm-suppress-shortcuts="true"') == page.count('<input ') == 1
    assert page.count('move once this cell has run') == 1


def test_sliders_over_frames_where_a_kernel_runs(monkeypatch):
    """One call gives both: sliders of ipywidgets that choose among the same figures, and what
    stands on a page without a kernel."""
    made = frames(draw, width=[0.5, 1.0, 2.0], shift=[0, 1])
    assert set(made._repr_mimebundle_()) == {'text/plain', 'text/html'}  # no kernel here
    from extreme_opt.show import widgets as home

    kernel = type('Shell', (), {'kernel': None})
    monkeypatch.setattr(home, 'get_ipython', lambda: kernel)
    shown = made._repr_mimebundle_()
    assert shown['text/html'] == made._repr_html_()
    assert 'application/vnd.jupyter.widget-view+json' in shown
    width, shift, image = made.widget().children
    assert (width.index, shift.index) == (1, 0) and image.value == made.pictures[2]
    for (i, j), picture_ in zip(itertools.product(range(3), range(2)), made.pictures):
        width.index, shift.index = i, j
        assert image.value == picture_


def test_a_figure_under_sliders_is_as_wide_as_the_column():
    "Drawn for 690 pixels whatever its size was, and its place is kept before it has loaded."

    def narrow(k=1):
        plt.figure(figsize=(4, 2)).gca().plot([k, 1])

    def wide(k=1):
        plt.figure(figsize=(8, 2)).gca().plot([k, 1])

    for function, across in ((narrow, 989), (wide, 1376)):
        made = frames(function, k=[1])
        width = int.from_bytes(made.pictures[0][16:20], 'big')
        height = int.from_bytes(made.pictures[0][20:24], 'big')
        assert abs(width - across) <= 1
        assert f'width="690" height="{round(690 * height / width)}"' in made._repr_html_()


def test_style():
    """The colors of a page in turn differ to a color-blind eye as those of solvers do, and what
    matplotlib is set to is given back."""
    with plt.rc_context():
        style()
        made = axes()
        colors = [made.plot([0, 1])[0].get_color() for _ in range(8)]
        assert set(colors) <= set(PALETTE.values()) and len(set(colors)) == 8
        assert not made.spines['top'].get_visible()
        apart(colors[:7])
        made.set(xscale='log', xlim=(30, 700))
        named = made.xaxis.get_major_formatter()
        assert named(100) == '$\\mathdefault{100}$' and named(1e5) == '$\\mathdefault{10^{5}}$'
    plt.close('all')


def test_text_of_a_slider_is_escaped():
    "Quotes and angle brackets in labels and words end neither an attribute nor a tag."

    def shape(kind='<b>'):
        "Is \"it\" <steep>?"
        plt.plot([1, len(kind)])

    page = frames(shape, kind=['<b>', 'a"b'])._repr_html_()
    assert '<b>' not in page and '<steep>' not in page
    assert '&quot;it&quot; &lt;steep&gt;? kind &lt;b&gt;' in page
    labels = re.search(r'data-labels="([^"]*)"', page)[1]
    assert json.loads(html.unescape(labels)) == ['<b>', 'a"b']


def own(k=1):
    figure, axes = plt.subplots(1, 2, figsize=(4, 2))
    axes[0].plot([k, 1])


def returned(k=1):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 2))
    figure.gca().plot([k, 1])
    return figure


def eager(k=1):
    plt.plot([k, 1])
    plt.show()


@pytest.mark.parametrize('function', [own, returned, eager])
def test_any_way_of_drawing(function):
    "A function may make its own figure, return one, or show it; nothing stays open."
    open_before, show = plt.get_fignums(), plt.show
    made = frames(function, k=[1, 5])
    first, second = made.pictures
    assert first != second and first[:4] == b'\x89PNG'
    assert plt.get_fignums() == open_before and plt.show is show


def test_what_goes_wrong_is_said():
    """Too many frames, unknown names, single values and empty lists are refused before anything is
    drawn; figures do not pile up."""

    def never(a=1, b=1):
        raise AssertionError('drawn')

    refuses('7 a x 6 b makes 42 frames, but', frames, never, a=range(7), b=range(6))
    refuses("'c' is no argument of never; it has a, b", frames, never, c=[1], raises=TypeError)
    with pytest.raises(TypeError, match=r'a=3 is one value; give a list of values, as in a=\[3\]'):
        frames(never, a=3)
    refuses('is one value', frames, never, a='abc', raises=TypeError)
    refuses('a has no values', frames, never, a=[])
    refuses('frames has no values', frames, never)
    refuses(r'empty\(k=1\) drew no figure', frames, empty, k=[1])
    before = plt.get_fignums()
    with pytest.raises(ZeroDivisionError):
        frames(lambda k: plt.plot([1 / k]), k=[0])
    assert plt.get_fignums() == before


def empty(k):
    return k


def test_labels_of_all_kinds():
    "Words, truth values, None and numbers that agree to four digits all get a label of their own."
    made = frames(
        lambda v=None: plt.plot([1, 2]), v=[None, True, 'word', np.float32(0.1), 0.12341, 0.12342]
    )
    assert made.labels['v'] == ['None', 'True', 'word', '0.1', '0.12341', '0.12342']
    assert made.start == [0]


def test_live_follows():
    """Ranges, lists and fixed values; the figure is that of the setting, and an error is shown, not
    lost."""
    seen = []

    def function(rate=0.5, count=2, name='a', fixed=1):
        seen.append((rate, count, name, fixed))
        if count == 3:
            raise ValueError('three is too many')
        plt.plot([rate, count])

    made = live(function, rate=(0.0, 1.0, 0.25), count=(1, 4), name=['a', 'b'], fixed=7)
    rate, count, name, said, image = made.children
    assert isinstance(rate, widgets.FloatSlider) and isinstance(count, widgets.IntSlider)
    assert seen == [(0.5, 2, 'a', 7)]
    first = image.value
    rate.value = 0.75
    assert seen[-1] == (0.75, 2, 'a', 7) and image.value != first
    count.value = 3
    assert 'three is too many' in said.value
    name.value = 'b'
    count.value = 1
    assert said.value == '' and seen[-1] == (0.75, 1, 'b', 7)
    refuses(r'rate=\(2, 1\) is no range', live, function, rate=(2, 1))
    assert plt.get_fignums() == []


def test_live_leaves_frames_where_no_kernel_answers(monkeypatch):
    """A dozen figures of the lists are drawn, and a range stands where its slider is; a function
    that fails costs the page its figure and not the slider."""

    def small(figure, dots):
        figure.set_layout_engine('none')
        figure.savefig(out := io.BytesIO(), dpi=10)
        return out.getvalue()

    monkeypatch.setattr('extreme_opt.show.widgets.picture', small)
    made = live(draw, width=[1.0, 2.0], shift=(0.0, 2.0))
    shown = made._repr_mimebundle_()
    assert shown['application/vnd.jupyter.widget-view+json']['model_id'] == made.model_id
    assert shown['text/html'] == frames(draw, width=[1.0, 2.0], shift=[0.0])._repr_html_()
    made.children[1].value = 1.0
    assert made._repr_mimebundle_()['text/html'] == (
        frames(draw, width=[1.0, 2.0], shift=[1.0])._repr_html_()
    )
    long = live(draw, width=[1.0 + n for n in range(41)])._repr_mimebundle_()['text/html']
    assert long == frames(draw, width=[1.0 + 4 * n for n in range(11)])._repr_html_()
    square = live(draw, width=[1.0, 2.0, 3.0], shift=[0, 1, 2, 3, 4])._repr_mimebundle_()
    assert square['text/html'].count('<img') == 3 * 3
    broken = live(lambda at: plt.plot([1 / at]), at=[1, 0])
    assert 'text/html' not in broken._repr_mimebundle_()
    assert plt.get_fignums() == []


@pytest.mark.parametrize('missing, name', [('matplotlib', 'color_of'), ('ipywidgets', 'frames')])
def test_without_the_extra(missing, name, fresh_python):
    """Importing works without matplotlib and ipywidgets; using them gives one line that says what
    to install."""
    code = f"""
import sys
sys.modules[{missing!r}] = None
import extreme_opt, extreme_opt.show
assert {name!r} in dir(extreme_opt.show)
try: extreme_opt.show.{name}
except ImportError as error: print(error)
"""
    said = f'show.{name} needs {missing}, which is not installed; pip install "extreme_opt[show]"'
    assert fresh_python(code) == f'{said}\n'


def test_unknown_name():
    import extreme_opt.show

    with pytest.raises(AttributeError, match='has no attribute .frame.; it has PALETTE, aligned'):
        _ = extreme_opt.show.frame
