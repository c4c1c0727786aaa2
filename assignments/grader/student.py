"""Runs one student's notebook, cell by cell, as the tests on the other side of the pipe ask.
Nothing here is trusted.

It holds no tests, no marks and no solutions. What it answers are values, and a value earns what a
right value earns.
"""

import base64
import contextlib
import io
import os
import resource
import shutil
import signal
import sys
import traceback
from pathlib import Path

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from wire import CATCHABLE, Pipe, Reader, Writer, end_with_parent, restrict, without_sliders

TEXT = 50_000  # characters of output kept, a cell
SETTRACE, GETTRACE, GETFRAME = sys.settrace, sys.gettrace, sys._getframe
ALARMS = {signal.SIGALRM, signal.SIGPROF}
PICTURES, PICTURE = 8, 600_000  # figures kept, a cell, and bytes of one


class TimeIsUp(KeyboardInterrupt):
    "The time of a cell or a call is used up."


# ---------------------------------------------------------------- objects that live with the tests


class Remote:
    "An object of the tests: every use of it is asked for over the pipe, and counted there."

    def __init__(self, link, number):
        self.__dict__.update(_link=link, _number=number)

    def _ask(self, op, *args, **kwargs):
        return self._link.ask(op, self._number, args, kwargs)

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        value = self._ask('get', name)
        if value == ('method',):
            return lambda *args, **kwargs: self._ask('method', name, *args, **kwargs)
        return value[1]

    def __setattr__(self, name, value):
        raise AttributeError(f'{name} cannot be set')


def _array(self, dtype=None, copy=None):
    return np.array(self._ask('array'), dtype)


def _iterate(self):
    for at in range(len(self)):
        yield self[at]


ABILITIES = {
    '__call__': lambda self, *args, **kwargs: self._ask('call', *args, **kwargs),
    '__len__': lambda self: self._ask('len'),
    '__getitem__': lambda self, key: self._ask('getitem', key),
    '__setitem__': lambda self, key, value: self._ask('setitem', key, value),
    '__contains__': lambda self, value: self._ask('contains', value),
    '__iter__': _iterate,
    '__array__': _array,
}


def _local(value):
    "Plain arrays in the place of remote ones."
    if isinstance(value, RemoteArray):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(_local(one) for one in value)
    return {key: _local(one) for key, one in value.items()} if isinstance(value, dict) else value


class RemoteArray(NDArrayOperatorsMixin, Remote):
    "An array of the tests, of a class that counts what is done with it."

    __array__, __iter__ = _array, _iterate
    __len__, __contains__ = ABILITIES['__len__'], ABILITIES['__contains__']
    __getitem__, __setitem__ = ABILITIES['__getitem__'], ABILITIES['__setitem__']
    __array_priority__ = 1000

    def __float__(self):
        return float(np.asarray(self))

    def __int__(self):
        return int(np.asarray(self))

    def __bool__(self):
        return bool(np.asarray(self))

    def __repr__(self):
        return repr(np.asarray(self))

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop('out', None)
        first = out[0] if out else inputs[0] if method == 'at' else self
        if not isinstance(first, RemoteArray):  # it is written to, and lives here
            kwargs = {**kwargs, **({'out': out} if out else {})}
            return getattr(ufunc, method)(*_local(inputs), **_local(kwargs))
        if out:
            kwargs['out'] = tuple(out)
        try:
            return self._ask('ufunc', ufunc.__name__, method, list(inputs), kwargs)
        except LookupError:
            kwargs.pop('out', None)
            done = getattr(ufunc, method)(*_local(inputs), **_local(kwargs))
            if out:
                out[0][...] = done
            return out[0] if out else done

    def __array_function__(self, function, types, args, kwargs):
        try:
            name = f'{function.__module__}.{function.__name__}'
            return self._ask('function', name, list(args), kwargs)
        except LookupError:
            return function(*_local(list(args)), **_local(kwargs))


# ---------------------------------------------------------------- the pipe


class Link:
    "This end of the pipe."

    def __init__(self, pipe):
        self.pipe, self.functions, self.classes = pipe, [], {}
        self.views = []  # (number, array, how it came) of parts of the tests' arrays

    def refer(self, value):
        if isinstance(value, Remote):
            return {'own': value._number}
        if hasattr(value, '__array__') and not isinstance(value, type):
            plain = np.asarray(value).view(np.ndarray)
            if plain.dtype != object:
                return plain
        if callable(value):
            self.functions.append(value)
            return {'fn': [len(self.functions) - 1, str(getattr(value, '__name__', 'function'))]}
        return {'o': type(value).__name__}

    def find(self, tag, body):
        if tag == 'fn':
            return self.functions[body[0]]
        if tag == 'view':
            array = body[1]
            self.views.append([body[0], array, array.copy()])
            return array
        if tag == 'ref':
            number, kind, abilities = body
            if kind == 'array':
                return RemoteArray(self, number)
            key = tuple(abilities)
            if key not in self.classes:
                members = {name: ABILITIES[name] for name in abilities if name in ABILITIES}
                self.classes[key] = type('RemoteObject', (Remote,), members)
            return self.classes[key](self, number)
        raise ValueError(tag)

    def send(self, kind, **fields):
        writer = Writer(None)

        def refer(value):
            tree = self.refer(value)
            return tree if isinstance(tree, dict) else writer.write(tree)

        writer.refer = refer
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ALARMS)
        try:
            tree = {key: writer.write(value) for key, value in fields.items()}
            self.pipe.send({'kind': kind, 'fields': tree}, writer.blobs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def receive(self):
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ALARMS)
        try:
            message, blob = self.pipe.receive()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        reader = Reader(blob, None)

        def find(tag, body):
            return self.find(tag, [body[0], reader.read(body[1])] if tag == 'view' else body)

        reader.find = find
        fields = {key: reader.read(value) for key, value in message['fields'].items()}
        return message['kind'], fields, reader.arrays

    def flush(self):
        "What was written into parts of the tests' arrays goes back to them."
        changed = [
            (number, array) for number, array, was in self.views if not _same(array, was)
        ]
        for entry in self.views:
            entry[2] = entry[1].copy()
        return changed

    def ask(self, op, number, args, kwargs):
        self.send('ask', op=op, number=number, args=list(args), kwargs=kwargs, views=self.flush())
        kind, fields, _ = self.receive()
        if kind == 'error':
            raise CATCHABLE.get(fields['name'], RuntimeError)(fields['text'])
        return fields['value']


def _same(one, two):
    return one.shape == two.shape and one.tobytes() == two.tobytes()


# ---------------------------------------------------------------- cells


class Capped(io.TextIOBase):
    "A stream that keeps its beginning."

    def __init__(self, cell):
        self.cell = cell

    def write(self, text):
        self.cell.say(str(text))
        return len(text)


class Cell:
    "What a cell printed and drew."

    def __init__(self):
        self.outputs, self.left = [], TEXT

    def say(self, text):
        if self.left <= 0:
            return
        kept = text[: self.left]
        self.left -= len(kept)
        if self.left <= 0:
            kept += '\n... the rest is left out\n'
        if self.outputs and self.outputs[-1][0] == 'text':
            self.outputs[-1][1].append(kept)
        else:
            self.outputs.append(['text', [kept]])

    def show(self, data):
        picture = data.get('image/png')
        if isinstance(picture, str):
            picture = base64.b64decode(picture)
        if picture and len(picture) <= PICTURE:
            if sum(kind == 'png' for kind, _ in self.outputs) < PICTURES:
                self.outputs.append(['png', bytes(picture)])
        elif 'text/plain' in data:
            self.say(str(data['text/plain']) + '\n')

    def result(self):
        return [[kind, ''.join(one) if kind == 'text' else one] for kind, one in self.outputs]


def figures(cell):
    "Figures that are open, as pictures."
    if 'matplotlib.pyplot' not in sys.modules:
        return
    plt = sys.modules['matplotlib.pyplot']
    for number in plt.get_fignums()[:PICTURES]:
        raw = io.BytesIO()
        plt.figure(number).savefig(raw, format='png', dpi=72, bbox_inches='tight')
        cell.show({'image/png': raw.getvalue()})
    plt.close('all')


def new_shell(show):
    "An IPython that keeps no history and shows through `show`."
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            show(format_dict)

        def log_output(self, format_dict):
            pass

        def finish_displayhook(self):
            pass

    class Publisher(DisplayPublisher):
        def publish(self, data, *args, **kwargs):
            show(data)

    config = Config()
    config.HistoryManager.enabled = False
    InteractiveShell.displayhook_class, InteractiveShell.display_pub_class = Hook, Publisher
    shell = InteractiveShell.instance(config=config)
    shell.colors = 'nocolor'
    shell.enable_gui = lambda gui=None: None  # %matplotlib: figures are kept as they are here
    shell.enable_matplotlib = lambda gui=None: ('agg', 'agg')
    return shell


class Steps:
    "Counts the instructions that code of a notebook executes, and ends it when there are too many."

    def __init__(self, space, most):
        self.space, self.most, self.n = space, most, 0

    def trace(self, frame, event, argument):
        if frame.f_globals is not self.space:
            return None
        frame.f_trace_opcodes = True
        self.n += event == 'opcode'
        if self.n > self.most:
            raise RuntimeError('too many instructions')
        return self.trace

    def __enter__(self):
        self.mine = self.trace
        GETFRAME().f_trace_opcodes = True  # Python 3.12 counts no first call without it
        SETTRACE(self.mine)
        return self

    def __exit__(self, *_):
        if GETTRACE() is not self.mine and self.n <= self.most:  # somebody switched it off
            self.n = self.most + 1
        SETTRACE(None)


class Student:
    "The notebook's state, and the answers to what the tests ask."

    def __init__(self, link):
        self.link, self.cell, self.shell = link, Cell(), None

    def run(self, source, limit):
        "Execute a cell: whether it went through, its last error, its outputs."
        self.cell = Cell()
        if self.shell is None:
            self.shell = new_shell(lambda data: self.cell.show(data))
        without_sliders(source)
        sys.stdout = sys.stderr = Capped(self.cell)
        error = None
        try:
            allow(limit)
            done = self.shell.run_cell(source, store_history=False)
            allow(0)
            error = done.error_before_exec or done.error_in_exec
            figures(self.cell)
        except BaseException as problem:  # whatever a student raises
            error = problem
        finally:
            allow(0)
        words = None if error is None else [type(error).__name__, str(error)[:500]]
        return dict(error=words, outputs=self.cell.result())

    def names(self, names):
        space = self.shell.user_ns if self.shell else {}
        return dict(values={name: space[name] for name in names if name in space})

    def call(self, function, args, kwargs, errstate, limit, most, arrays):
        """Call a function of the student: its value, which of the arrays it was given have changed,
        and, where `most` is not zero, the instructions of the notebook's own code, which ends when
        there are more."""
        before = [array.copy() for array in arrays]
        self.link.views = []
        sys.stdout = sys.stderr = Capped(Cell())
        count = Steps(self.shell.user_ns, most) if most else contextlib.nullcontext()
        value = error = None
        allow(limit)
        try:
            with np.errstate(**errstate), count:
                value = function(*args, **kwargs)
        except Exception as problem:
            if not most:
                raise
            error = [type(problem).__name__, str(problem)[:500], where(problem)]
        finally:
            allow(0)
        if most:
            return dict(value=value, error=error, steps=count.n)
        changed = [
            (at, array)
            for at, (array, was) in enumerate(zip(arrays, before))
            if not _same(array, was)
        ]
        return dict(value=value, changed=changed, views=self.link.flush())

    def answer(self, kind, fields, arrays):
        if kind == 'run':
            return self.run(**fields)
        if kind == 'names':
            return self.names(**fields)
        if kind == 'trace':  # where the memory cannot be measured from outside
            import tracemalloc

            if fields['on']:
                tracemalloc.start()
            peak = tracemalloc.get_traced_memory()[1]
            if not fields['on']:
                tracemalloc.stop()
            return dict(value=peak)
        return self.call(**fields, arrays=arrays)


def where(error):
    "The last line of the student's own code that an error went through."
    lines = [
        f'{frame.name}, line {frame.lineno}: {frame.line}'
        for frame in traceback.extract_tb(error.__traceback__)
        if 'ipykernel' in frame.filename or frame.filename.startswith('<ipython')
    ]
    return lines[-1][:300] if lines else ''


def allow(limit):
    """Interrupt after so many seconds of the processor, or three times as many by the clock; 0 for
    never."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, 3 * limit)


def up(number, frame):
    raise TimeIsUp('the time is up')


def main():
    end_with_parent()
    pipe = Pipe(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    link = Link(pipe)
    _, job, _ = link.receive()
    restrict(int(job['memory']), int(job['cpu']))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in ALARMS:
        signal.signal(number, up)
    work = Path(job['work'])
    for given, place in ((job['given'], work), (job['warm'], Path(os.environ['NUMBA_CACHE_DIR']))):
        if given and Path(given).is_dir():
            shutil.copytree(given, place, dirs_exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    sys.path = [str(work), *[at for at in sys.path if at != str(Path(__file__).parent)]]
    student = Student(link)
    link.send('ready')
    while True:
        kind, fields, arrays = link.receive()
        if kind == 'quit':
            if job['keep']:
                cache = os.environ['NUMBA_CACHE_DIR']
                shutil.copytree(cache, job['keep'], dirs_exist_ok=True)
            link.send('bye')
            return
        try:
            link.send('done', **student.answer(kind, fields, arrays))
        except BaseException as error:
            text = 'the time is up' if isinstance(error, TimeIsUp) else str(error)[:500]
            link.send('error', name=type(error).__name__, text=text, where=where(error))


if __name__ == '__main__':
    main()
