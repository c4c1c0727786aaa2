"""The kernel inside the engine: runs a cell and sends what it shows to the page.

The page calls `handle(request)` with a line of JSON. Answers leave through `_host.call`, each one a
line of JSON: `stream`, `data` (a MIME bundle), `error`, `clear`, and `done` at the end. Where there
is no `_host`, as in the tests, answers are kept in `sent`.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import gc
import importlib.machinery
import io
import json
import linecache
import os
import pprint
import sys
import time
import traceback
import types

try:
    import _host  # type: ignore
except ImportError:
    _host = None

CORPUS = '/lib/corpus.zip'
sent: list[dict] = []
sliders: dict[int, _Sliders] = {}  # by number, those that the page shows
RICH = dict(
    _repr_html_='text/html',
    _repr_markdown_='text/markdown',
    _repr_svg_='image/svg+xml',
    _repr_png_='image/png',
)


def send(kind: str, **said):
    "Hand an answer to the page, after everything printed so far."
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Printed) and kind != 'stream':
            stream.flush()
    if _host:
        _host.call(json.dumps(dict(kind=kind, **said)).encode())
    else:
        sent.append(dict(kind=kind, **said))


class _Printed(io.TextIOBase):
    "Standard output or error: kept for a fifth of a second, so that loops that print stay fast."

    def __init__(self, name: str):
        self.name = name
        self.kept: list[str] = []
        self.since = 0.0

    def writable(self):
        return True

    def write(self, text):
        if not self.kept:
            self.since = time.monotonic()
        self.kept.append(text)
        if time.monotonic() - self.since > 0.2:
            self.flush()
        return len(text)

    def flush(self):
        if self.kept:
            text, self.kept = ''.join(self.kept), []
            send('stream', name=self.name, text=text)


# ---------------------------------------------------------------- what a value looks like


def bundle(value) -> dict:
    "MIME bundle of a value: the richest form that it has, and its text."
    made = {}
    for name, mime in RICH.items():
        method = None if isinstance(value, type) else getattr(value, name, None)
        shown = method() if method else None
        if shown is not None:
            made[mime] = base64.b64encode(shown).decode() if isinstance(shown, bytes) else shown
    if isinstance(value, _Sliders):
        made['application/x-sliders'] = value.described()
    plain = isinstance(value, (list, tuple, dict, set))
    text = pprint.pformat(value, width=79, sort_dicts=False) if plain else repr(value)
    return made | {'text/plain': text}


def display(*values, **_):
    "As in Jupyter."
    for value in values:
        send('data', data=bundle(value))


def _flush_figures():
    if 'matplotlib.pyplot' in sys.modules:
        import guest_figures

        guest_figures.flush()


# ---------------------------------------------------------------- stand-ins for Jupyter's parts


class _Shown:
    "What `IPython.display` wraps: one form of a value."

    method = '_repr_html_'

    def __init__(self, data=None, **_):
        self.data = data

    def __repr__(self):
        return f'<{type(self).__name__} object>'


def _shown(name: str, method: str) -> type:
    return type(name, (_Shown,), {method: lambda self: self.data})


def _module(name: str, **names) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    return module


def _stand_ins():
    "Modules that pages import and that only make sense under Jupyter."
    forms = {
        name: _shown(name, method)
        for name, method in (
            ('HTML', '_repr_html_'),
            ('Markdown', '_repr_markdown_'),
            ('SVG', '_repr_svg_'),
            ('Image', '_repr_png_'),
        )
    }
    clear = dict(clear_output=lambda wait=False: send('clear'))
    shown = _module('IPython.display', display=display, **forms, **clear)
    _module('IPython', display=shown, get_ipython=lambda: None, version_info=(9, 0, 0, ''))
    _module('nbdev', nbdev_export=lambda *_, **__: None)
    _module('fontTools', agl=_module('fontTools.agl'))  # only for drawings in PDF
    widgets = _module('ipywidgets')
    for name in 'Widget VBox HBox Image Label IntSlider FloatSlider SelectionSlider'.split():
        setattr(widgets, name, type(name, (), {}))


# ---------------------------------------------------------------- sliders


class _Sliders:
    "One figure under sliders: drawn when it is looked at, so an edited cell moves at once."

    def __init__(self, home, function, values: dict, fixed: dict):
        self.home = home
        self.function = function
        self.values = values
        self.fixed = fixed
        self.number = len(sliders)
        sliders[self.number] = self

    def described(self) -> dict:
        knobs = [
            dict(
                name=name.replace('_', ' '),
                labels=self.home._labels(several),
                start=self.home._first(self.function, name, several),
            )
            for name, several in self.values.items()
        ]
        start = [knob['start'] for knob in knobs]
        words = (self.function.__doc__ or self.function.__name__).strip().split('\n')[0]
        return dict(number=self.number, said=words, knobs=knobs, image=self.picture(start))

    def picture(self, places: list[int]) -> str:
        chosen = {name: several[at] for (name, several), at in zip(self.values.items(), places)}
        raw = self.home._drawn(self.function, {**self.fixed, **chosen})
        return base64.b64encode(raw).decode()

    def __repr__(self):
        return f'Sliders({", ".join(self.values)})'


def _positions(value) -> list:
    "Values of a slider of `live`: those of a list, or the steps of a range (low, high[, step])."
    if not isinstance(value, tuple):
        return list(value)
    low, high, *step = value
    whole = all(isinstance(one, int) for one in value)
    step = step[0] if step else 1 if whole else (high - low) / 100
    return [low + i * step for i in range(int((high - low) / step + 1e-9) + 1)]


def _live_sliders(home):
    "`frames` and `live` with Python at hand: both draw the figure that is looked at."

    def frames(function, **values):
        return _Sliders(home, function, home._choices(function, values), {})

    def live(function, **values):
        one = {
            name: value
            for name, value in values.items()
            if isinstance(value, str) or not hasattr(value, '__iter__')
        }
        moving = {name: _positions(value) for name, value in values.items() if name not in one}
        return _Sliders(home, function, home._choices(function, moving), one)

    frames.__doc__, live.__doc__ = home.frames.__doc__, home.live.__doc__
    home.frames, home.live = frames, live


def _as_elsewhere(numpy):
    """SciPy imports the compiler of Fortran without using it; without it files and time are saved.
    Counts in 64 bits, which NumPy refuses where an address has 32, are taken as on other computers.
    """
    numpy.f2py = _module('numpy.f2py')
    bincount, repeat = numpy.bincount, numpy.repeat

    def short(counts):
        counts = numpy.asarray(counts)
        return counts.astype(numpy.intp) if counts.dtype == numpy.int64 else counts

    @functools.wraps(bincount)
    def bincount_of(x, /, weights=None, minlength=0):
        return bincount(short(x), weights, minlength)

    @functools.wraps(repeat)
    def repeat_of(a, repeats, axis=None):
        return repeat(a, short(repeats), axis)

    numpy.bincount, numpy.repeat = bincount_of, repeat_of


def _packed_corpus(multiclass):
    "To import four libraries and read what they document takes long here; the site has done it."
    read = multiclass.cached

    def cached(name, key, build):
        whole = set(multiclass._DEFAULT_PACKAGES) == set(json.loads(key)['versions'])
        if name == 'corpus' and whole and os.path.exists(CORPUS):
            return load_arrays(CORPUS)
        return read(name, key, build)

    from extreme_opt.data.store import load_arrays

    multiclass.cached = cached
    multiclass._version = functools.cache(multiclass._version)  # the image knows what `warm` asked


def _numpy_loops(module):
    import guest_loops

    guest_loops.put_in(module)


class _AfterImport:
    "Finder that changes modules as soon as they are imported."

    changes = {
        'extreme_opt.bound.class_space': _numpy_loops,
        'extreme_opt.bound.quadratic_bound': _numpy_loops,
        'extreme_opt.data.multiclass': _packed_corpus,
        'extreme_opt.ordinal.comparisons': _numpy_loops,
        'extreme_opt.ordinal.losses': _numpy_loops,
        'extreme_opt.ordinal.problem': _numpy_loops,
        'extreme_opt.show.widgets': _live_sliders,
        'extreme_opt.similarity.curvature': _numpy_loops,
        'extreme_opt.similarity.gradient': _numpy_loops,
        'extreme_opt.similarity.problem': _numpy_loops,
        'extreme_opt.similarity.ranking': _numpy_loops,
        'extreme_opt.similarity.sampling': _numpy_loops,
        'extreme_opt.similarity.towers': _numpy_loops,
        'extreme_opt.softmax._kernels': _numpy_loops,
        'extreme_opt.softmax.exact': _numpy_loops,
        'numpy': _as_elsewhere,
    }

    def find_spec(self, name, path=None, target=None):
        if name not in self.changes:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            self.changes[name](module)

        spec.loader = types.SimpleNamespace(
            create_module=spec.loader.create_module, exec_module=exec_module
        )
        return spec


# ---------------------------------------------------------------- a cell


def _last_value(source: str, name: str, names: dict):
    "Run a cell; the value of its last expression, None where a semicolon ends it."
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, 'exec', dont_inherit=True), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), name, 'eval', dont_inherit=True), names)
    return None if source.rstrip().endswith(';') else value


def run(source: str, name: str) -> bool:
    "Run one cell in `__main__` and show its last value; whether it went through."
    names = vars(sys.modules['__main__'])
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    try:
        value = _last_value(source, name, names)
        if value is not None:
            names['_'] = value
            send('data', data=bundle(value))
        _flush_figures()
        return True
    except BaseException as error:
        _tell(error)
        if 'matplotlib.pyplot' in sys.modules:
            sys.modules['matplotlib.pyplot'].close('all')
        return False


def _tell(error: BaseException):
    "Send an error with the lines of the cell, without those of this file."
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    send('error', name=type(error).__name__, text=''.join(lines))


WARM = 'core data show softmax similarity ordinal bound show.plots show.widgets show.maps'.split()


def warm(modules: list[str]):
    """Import what pages import and draw, for the image of the memory that build.py takes; only
    fonts of matplotlib may be open then."""
    from matplotlib import pyplot

    for name in WARM:
        importlib.import_module(f'extreme_opt.{name}')
    for name in modules:
        with contextlib.suppress(ImportError):  # some names are functions, some are not there
            importlib.import_module(name)
    multiclass = sys.modules['extreme_opt.data.multiclass']
    for name in multiclass._DEFAULT_PACKAGES:
        multiclass._version(name)
    with contextlib.suppress(ImportError):  # looks for plug-ins in the files of all packages, once
        from sklearn.feature_extraction.text import TfidfTransformer

        TfidfTransformer().fit([[1]]).transform([[1]])
    for top in (3, 1e3, 1e6):  # fonts, signs and the labels of axes stay at hand
        figure, (left, right) = pyplot.subplots(1, 2, layout='constrained')
        left.plot([0, 0.5, 1], [-1, 0, 1], 'o-', label='$a$')
        right.loglog([1 / top, 1, top], [1 / top, 1, top], 's--', label='A')
        for axes in (left, right):
            axes.set(xlabel='x', ylabel='y', title='z')
            axes.legend()
        sys.modules['guest_figures'].drawn(figure)
        sys.modules['extreme_opt.show.plots'].picture(figure)
        pyplot.close('all')


def scrub(end: int):
    "Write zeros into memory below `end` that is free: the image leaves out what holds none else."
    linecache.clearcache()
    gc.collect()
    gc.freeze()  # what all pages share is not looked through again
    held: list[bytes] = []
    for size in (1 << 20, 1 << 16, 1 << 12, 1 << 9):
        while id(block := bytes(size)) + size < end:
            held.append(block)


def handle(request: str):
    "Answer one request of the page: run a cell, or move a slider."
    asked, began, ok = json.loads(request), time.monotonic(), True
    if 'warm' in asked:
        warm(asked['warm'])
    elif 'move' in asked:
        try:
            image = sliders[asked['move']].picture(asked['places'])
            send('moved', number=asked['move'], image=image)
        except Exception as error:
            _tell(error)
            ok = False
    else:
        ok = run(asked['source'], asked['name'])
    send('done', ok=ok, seconds=time.monotonic() - began)


def start():
    "Make this module the kernel of the process."
    sys.stdout, sys.stderr = _Printed('stdout'), _Printed('stderr')
    _stand_ins()
    sys.meta_path.insert(0, _AfterImport())
    vars(sys.modules['__main__'])['display'] = display
