"Figures and sliders: one style per solver, the same bytes each time, knobs that move without a kernel."
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

plt = pytest.importorskip('matplotlib.pyplot')
widgets = pytest.importorskip('ipywidgets')
from extreme_opt.show import colour_of, convergence, frames, live, picture, style_of                    # noqa: E402
from extreme_opt.show.plots import _STYLES, PALETTE                                                     # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
MEET = ['SGD UMax ImplicitSGD OneVsEach NoiseContrast ImportanceSampled FullSoftmax LBFGS',          # what stands in one figure
        'GradientDescent Adagrad GaussNewton BlockSGD PairSGD SOGram LBFGS', 'FixedStep BB SBB Damped GradientDescent SGD ProjectedGradient',
        'STE TSTE CKL Hinge SOE', 'Majorizer StochasticMajorizer RankOneMajorizer IncrementalMajorizer Newton LBFGS SGD GradientDescent']
BLIND = dict(protan=[[.152, 1.053, -.205], [.115, .786, .099], [-.004, -.048, 1.052]],
             deutan=[[.367, .861, -.228], [.280, .673, .047], [-.012, .043, .969]])


def draw(width=1., shift=0):
    "A parabola, drawn on the current figure."
    grid = np.linspace(-width, width, 50)
    plt.plot(grid, (grid - shift)**2)


def tree(widget):
    "A widget and all below it."
    return [widget, *(part for child in getattr(widget, 'children', ()) for part in tree(child))]


def links():
    "(source widget, target widget) of every link there is in the front end."
    found = [widget for widget in widgets.widgets.widget._instances.values() if isinstance(widget, widgets.widget_link.Link)]
    return [(link.source[0], link.target[0], link.source[1], link.target[1]) for link in found]


def shown(widget):
    "The picture that a reader sees."
    while isinstance(widget, widgets.Stack): widget = widget.children[widget.selected_index]
    return widget.value


def move(slider, index):
    "Move a slider as the front end does: its index, and all that is linked to it."
    slider.index = index
    for source, target, left, right in links():
        if source is slider: setattr(target, right, getattr(source, left))


@pytest.mark.parametrize('group', MEET, ids=['softmax', 'similarity', 'steps', 'losses', 'bound'])
def test_solvers_that_meet_differ(group):
    "In one figure no two colours are the same, nor do they become so to a colour-blind eye; on grey paper line and marker differ."
    names = group.split()
    assert len({colour_of(name) for name in names}) == len(names)
    assert len({(style['linestyle'], style['marker']) for style in map(style_of, names)}) == len(names)
    rgb = np.array([[int(colour_of(name)[i:i + 2], 16) / 255 for i in (1, 3, 5)] for name in names])
    light = np.where(rgb <= .04045, rgb / 12.92, ((rgb + .055) / 1.055)**2.4)
    for kind, matrix in BLIND.items():
        seen = np.clip(light @ np.array(matrix).T, 0, 1)
        seen = np.where(seen <= .0031308, 12.92 * seen, 1.055 * seen**(1 / 2.4) - .055)
        apart = np.linalg.norm(seen[:, None] - seen, axis=2) + 9 * np.eye(len(names))
        assert apart.min() > .1, (kind, names[apart.argmin() // len(names)], names[apart.argmin() % len(names)])


def test_a_solver_is_known_by_many_names():
    "Class, object, alias and a name with more words after it give one style."
    from extreme_opt.core import SGD, GradientDescent
    for one in (SGD, 'sgd', 'SGD', 'SGD, rate 0.1', 'sgd (float32)'): assert style_of(one) == style_of('SGD'), one
    assert style_of(GradientDescent()) == style_of('gd') != style_of(GradientDescent(scaling='adagrad')) == style_of('AdaGrad')
    class SVRG: step_rule = type('SBB', (), {})()
    class Classifier: solver = 'umax'
    assert style_of(SVRG()) == style_of('sbb') and style_of(Classifier()) == style_of('U-max')
    assert style_of('L-BFGS') == style_of('lbfgs') and colour_of('nearest centroid') == PALETTE['grey']


def test_every_style_is_drawable_and_unique():
    "The table holds each style once, and matplotlib knows them all, those of unknown names too."
    assert len({tuple(style_of(name).values()) for name in _STYLES}) == len(_STYLES)
    for name in [*_STYLES, *(f'method {i}' for i in range(40))]: plt.plot([0, 1], **style_of(name))
    plt.close('all')


class Record:
    "A run with two columns."
    def __init__(self, losses): self.rows = dict(passes=np.arange(len(losses)), steps=np.arange(len(losses)), loss=np.array(losses))
    def column(self, name): return self.rows[name]


def test_convergence():
    "Lines carry the style of their solver, the axes their names, and a floor makes the gap logarithmic."
    runs = {'UMax': Record([3., 2., 1.]), 'SGD': Record([3., 2.5, np.nan]), 'SGD, slower': Record([3., 2.9, 2.8])}
    axes = convergence(runs, unit='nats', axes=plt.figure().gca())
    assert [line.get_color() for line in axes.lines] == [colour_of(name) for name in ('UMax', 'SGD', 'SGD')]
    assert axes.lines[1].get_alpha() > axes.lines[2].get_alpha()
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ('passes', 'loss (nats)', 'linear')
    gap = convergence(runs, against='steps', floor=1., axes=plt.figure().gca())
    np.testing.assert_allclose(gap.lines[0].get_ydata(), [2, 1, np.nan])
    assert (gap.get_xlabel(), gap.get_ylabel(), gap.get_yscale()) == ('steps', 'loss above 1', 'log')
    plt.close('all')
    with pytest.raises(ValueError, match='runs is empty'): convergence({})


def test_frames_stay_small():
    "Seven frames of a busy figure weigh less than 150 KB."
    def busy(k=0):
        for name, step in zip(_STYLES, np.linspace(.1, 2, 6)): plt.plot(np.exp(-step * np.linspace(0, 3 + k, 60)), label=name, **style_of(name))
        plt.legend(); plt.xlabel('passes'); plt.ylabel('loss'); plt.grid()
    made = frames(busy, k=range(7))
    assert sum(len(part.value) for part in tree(made) if isinstance(part, widgets.Image)) * 4 / 3 < 150_000


def test_pictures_are_the_same_in_every_process(tmp_path):
    "Two processes draw the same bytes, and none of them is a date or a version."
    code = ('import sys, matplotlib; matplotlib.use("Agg"); import matplotlib.pyplot as plt; from extreme_opt.show import picture; '
            'f = plt.figure(); plt.plot([1, 3, 2]); sys.stdout.buffer.write(picture(f))')
    raw = [subprocess.run([sys.executable, '-c', code], capture_output=True, check=True, timeout=120, env={**os.environ, 'PYTHONHASHSEED': seed}).stdout
           for seed in ('1', '2')]
    assert raw[0] == raw[1] and raw[0][:4] == b'\x89PNG' and b'tEXt' not in raw[0] and b'tIME' not in raw[0]


def test_one_slider():
    "The slider starts at the default of its argument, and each position shows its own frame."
    made = frames(draw, width=[.5, 1., 2.])
    slider, stack = made.children
    assert slider.index == stack.selected_index == 1 and [label for label, _ in slider.options] == ['0.5', '1', '2']
    seen = set()
    for index in range(3):
        move(slider, index)
        assert stack.selected_index == index
        seen.add(shown(stack))
    assert len(seen) == 3
    assert not [part for part in tree(made) if getattr(part, 'tooltip', None)]      # the front end cannot draw a picture with a tooltip


def test_sliders_work_together():
    "With three knobs every combination shows the figure of that combination."
    def points(a=0, b=0, c=0): plt.scatter([a], [b], s=40 * c + 5); plt.xlim(-1, 3); plt.ylim(-1, 3)
    made = frames(points, a=[0, 1, 2], b=[0, 1], c=[0, 2])
    *sliders, stack = made.children
    alone = {}
    for a in range(3):
        for b in range(2):
            for c in range(2):
                for slider, index in zip(sliders, (a, b, c)): move(slider, index)
                alone[a, b, c] = shown(stack)
                figure = plt.figure(figsize=(5, 3), layout='constrained'); points(a, b, [0, 2][c])
                assert alone[a, b, c] == picture(figure), (a, b, c)
                plt.close(figure)
    assert len(set(alone.values())) == 12


def own(k=1):
    figure, axes = plt.subplots(1, 2, figsize=(4, 2))
    axes[0].plot([k, 1])

def returned(k=1):
    from matplotlib.figure import Figure
    figure = Figure(figsize=(4, 2)); figure.gca().plot([k, 1])
    return figure

def eager(k=1):
    plt.plot([k, 1]); plt.show()

@pytest.mark.parametrize('function', [own, returned, eager])
def test_any_way_of_drawing(function):
    "A function may make its own figure, return one, or show it; nothing stays open."
    open_before, show = plt.get_fignums(), plt.show
    made = frames(function, k=[1, 5])
    first, second = made.children[1].children
    assert first.value != second.value and first.value[:4] == b'\x89PNG'
    assert plt.get_fignums() == open_before and plt.show is show


def test_what_goes_wrong_is_said():
    "Too many frames, unknown names, single values and empty lists are refused before anything is drawn; figures do not pile up."
    def never(a=1, b=1): raise AssertionError('drawn')
    with pytest.raises(ValueError, match='7 a x 6 b makes 42 frames, but a page carries at most 40'): frames(never, a=range(7), b=range(6))
    with pytest.raises(TypeError, match="'c' is no argument of never; it has a, b"): frames(never, c=[1])
    with pytest.raises(TypeError, match=r'a=3 is one value; give a list of values, as in a=\[3\]'): frames(never, a=3)
    with pytest.raises(TypeError, match='is one value'): frames(never, a='abc')
    with pytest.raises(ValueError, match='a has no values'): frames(never, a=[])
    with pytest.raises(ValueError, match='frames has no values'): frames(never)
    with pytest.raises(ValueError, match=r'empty\(k=1\) drew no figure'): frames(empty, k=[1])
    before = plt.get_fignums()
    with pytest.raises(ZeroDivisionError): frames(lambda k: plt.plot([1 / k]), k=[0])
    assert plt.get_fignums() == before


def empty(k): return k


def test_labels_of_all_kinds():
    "Words, truth values, None and numbers that agree to four digits all get a label of their own."
    made = frames(lambda v=None: plt.plot([1, 2]), v=[None, True, 'word', np.float32(.1), .12341, .12342])
    assert [label for label, _ in made.children[0].options] == ['None', 'True', 'word', '0.1', '0.12341', '0.12342']
    assert made.children[0].index == 0


def test_live_follows():
    "Ranges, lists and fixed values; the figure is that of the setting, and an error is shown, not lost."
    seen = []
    def function(rate=.5, count=2, name='a', fixed=1):
        seen.append((rate, count, name, fixed))
        if count == 3: raise ValueError('three is too many')
        plt.plot([rate, count])
    made = live(function, rate=(0., 1., .25), count=(1, 4), name=['a', 'b'], fixed=7)
    rate, count, name, said, image = made.children
    assert isinstance(rate, widgets.FloatSlider) and isinstance(count, widgets.IntSlider) and seen == [(.5, 2, 'a', 7)]
    first = image.value
    rate.value = .75
    assert seen[-1] == (.75, 2, 'a', 7) and image.value != first
    count.value = 3
    assert 'three is too many' in said.value
    name.value = 'b'; count.value = 1
    assert said.value == '' and seen[-1] == (.75, 1, 'b', 7)
    with pytest.raises(ValueError, match=r'rate=\(2, 1\) is no range'): live(function, rate=(2, 1))
    assert plt.get_fignums() == []


@pytest.mark.parametrize('missing, name', [('matplotlib', 'colour_of'), ('ipywidgets', 'frames')])
def test_without_the_extra(missing, name):
    "Importing works without matplotlib and ipywidgets; using them gives one line that says what to install."
    code = f"""
import sys
sys.modules[{missing!r}] = None
import extreme_opt, extreme_opt.show
assert {name!r} in dir(extreme_opt.show)
try: extreme_opt.show.{name}
except ImportError as error: print(error)
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, timeout=120, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert done.stdout == f'show.{name} needs {missing}, which is not installed; pip install "extreme_opt[show]"\n'


def test_unknown_name():
    import extreme_opt.show
    with pytest.raises(AttributeError, match='has no attribute .frame.; it has PALETTE, colour_of'): _ = extreme_opt.show.frame
