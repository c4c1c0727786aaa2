"""Runs the tests of a problem set against one submission: python verify.py JOB.json RESULT.json

The tests, hidden ones too, run here. The student's code runs in a process of its own (student.py),
in a sandbox, and the names it defines arrive as values, or as functions that are called over a
pipe.
"""

import ast
import contextlib
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import types
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from intake import names_of  # noqa: E402
from wire import CATCHABLE, Pipe, Reader, Writer, end_with_parent, restrict, without_sliders  # noqa: E402

GRACE = 10  # seconds that a cell may go on after it was interrupted, at most
PROCESSES = 64  # of one submission
STEPS = 100_000  # instructions that are counted in one call
SPENT = 3  # seconds of the processor that a call may take whose instructions are counted
ATTEMPTS = 6  # times a notebook is begun anew without the cell that ended it
HIDDEN = re.compile(r'### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS', re.S)
METHODS = set(
    'sum mean max min dot reshape ravel transpose copy astype argmax argmin argsort sort clip prod'
    ' cumsum std var take repeat squeeze swapaxes any all flatten tolist item fill nonzero round'
    ' trace diagonal conj cumprod'.split()
)
FIELDS = {'T', 'shape', 'ndim', 'size', 'dtype', 'real', 'imag', 'nbytes', 'mT'}
FUNCTIONS = set(
    'sum dot einsum tensordot inner vdot outer matmul where clip concatenate stack vstack hstack'
    ' column_stack zeros_like ones_like empty_like full_like mean average std var median quantile'
    ' max amax min amin ptp argmax argmin cumsum cumprod prod take take_along_axis put_along_axis'
    ' repeat tile reshape ravel transpose swapaxes moveaxis expand_dims squeeze broadcast_to'
    ' broadcast_arrays sort argsort partition argpartition unique bincount isin any all diff flip'
    ' roll triu tril diag diagonal trace kron cross nonzero argwhere flatnonzero append insert'
    ' delete count_nonzero searchsorted digitize histogram norm solve inv eigh eigvalsh cholesky qr'
    ' svd lstsq det slogdet nan_to_num isclose allclose array_equal shape ndim size copyto copy'
    ' atleast_1d atleast_2d split array_split choose compress select ix_ nansum nanmean nanmax'
    ' nanmin round real imag interp multi_dot pinv'.split()
)


class StudentError(Exception):
    "An exception of a kind that the tests do not know."


class Ended(BaseException):
    "The student's process died or did not answer."


class Function:
    "A function that lives with the student; `__globals__` is where the tests run that trace it."

    __globals__ = None

    def __init__(self, session, number, name):
        self._session, self._number, self.__name__ = session, number, name

    def __call__(self, *args, **kwargs):
        return self._session.call(self, args, kwargs)

    def __repr__(self):
        return f'<function {self.__name__} of the student>'


# ---------------------------------------------------------------- memory, seen from outside


def descendants(pid):
    "Process ids below one, itself included."
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{one}/task'):
                text = Path(f'/proc/{one}/task/{task}/children').read_text()
                found += [int(part) for part in text.split()]
    return found


def status(pid, word):
    "Bytes that /proc/PID/status gives for VmRSS or VmHWM."
    try:
        text = Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return 0
    found = re.search(rf'^{word}:\s+(\d+) kB', text, re.M)
    return int(found[1]) * 1024 if found else 0


def seconds(pid):
    "User and system time of a process, from /proc/PID/stat."
    try:
        words = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')


class Meter:
    """Stands for tracemalloc in the tests: the memory of the student's process, as the system
    counts it."""

    def __init__(self, session):
        self.session, self.base = session, 0

    def start(self, *_):
        if not self.session.outside:
            return self.session.ask_student('trace', on=True)
        for pid in descendants(self.session.process.pid):
            try:
                Path(f'/proc/{pid}/clear_refs').write_text('5')
            except OSError:  # not allowed to: the student's side measures
                self.session.outside = False
                return self.start()
        self.base = self._sum('VmRSS')

    def _sum(self, word):
        return sum(status(pid, word) for pid in descendants(self.session.process.pid))

    def get_traced_memory(self):
        if not self.session.outside:
            return 0, self.session.ask_student('trace', on=True)['value']
        return max(0, self._sum('VmRSS') - self.base), max(0, self._sum('VmHWM') - self.base)

    def stop(self):
        if not self.session.outside:
            self.session.ask_student('trace', on=False)


# ---------------------------------------------------------------- the other process


class Session:
    "A student's process, the pipe to it, and the objects of the tests that it may use."

    def __init__(self, job):
        self.job, self.limit = job, job['limits']['seconds']
        self.changes = {(name, place) for name, place in job['changes']}
        self.seen = set()  # (function, argument) that were changed, while the reference runs
        self.objects, self.outside, self.spent = {}, job['outside'], 0.0
        env = {'PATH': os.environ.get('PATH', ''), **job['env']}
        self.process = subprocess.Popen(
            job['command'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            bufsize=0,
            start_new_session=True,
        )
        self.pipe = Pipe(self.process.stdout.fileno(), self.process.stdin.fileno())
        self.memory = memory = int(job['limits']['memory_gb'] * 2**30)
        self.pipe.watch = self.watch if self.outside else None
        names = ('given', 'warm', 'keep', 'work')
        more = {name: job['places'][name] for name in names}
        self.send('job', memory=memory, cpu=job['limits'].get('cpu', 3600), **more)
        self.hear(60)

    def close(self, politely=False):
        self.spent = self.processor()
        with contextlib.suppress(Ended, Exception):
            if politely:
                self.send('quit')
                self.hear(60)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.job['stop']:
            subprocess.run(self.job['stop'], capture_output=True)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def watch(self):
        "End a student who has too many processes, or too much memory in all of them."
        pids = descendants(self.process.pid)
        if len(pids) > PROCESSES:
            raise Ended(f'began more than {PROCESSES} processes')
        if sum(status(pid, 'VmRSS') for pid in pids) > 1.5 * self.memory:
            raise Ended(f'took more than {self.memory / 2**30:g} GB')

    # ------------------------------------------------ messages

    def refer(self, value):
        "How an object of the tests is named to the student."
        if isinstance(value, Function):
            return {'fn': [value._number, value.__name__]}
        if isinstance(value, type | types.ModuleType):
            return {'o': type(value).__name__}
        number = len(self.objects)
        self.objects[number] = value
        if isinstance(value, np.ndarray):
            return {'ref': [number, 'array', []]}
        names = ('__call__', '__len__', '__getitem__', '__setitem__', '__contains__', '__iter__')
        has = [name for name in (*names, '__array__') if hasattr(type(value), name)]
        if '__getitem__' in has and '__len__' in has and '__iter__' not in has:
            has.append('__iter__')
        return {'ref': [number, 'object', has]}

    def find(self, tag, body):
        if tag == 'fn' and isinstance(body[0], int):
            return Function(self, body[0], re.sub(r'\W', '', str(body[1]))[:60])
        if tag == 'own' and body in self.objects:
            return self.objects[body]
        raise ValueError('a reference that leads nowhere')

    def send(self, kind, **fields):
        writer = Writer(self.refer)
        tree = {key: writer.write(value) for key, value in fields.items()}
        try:
            self.pipe.send({'kind': kind, 'fields': tree}, writer.blobs)
        except OSError:
            raise Ended('died') from None
        return writer.arrays

    def hear(self, seconds):
        "The next answer, after all that the student's code asks on its way."
        deadline = time.monotonic() + 3 * seconds + min(GRACE, seconds)
        while True:
            try:
                message, blob = self.pipe.receive(deadline)
                reader = Reader(blob, self.find)
                tree = message['fields']
                fields = {str(key): reader.read(value) for key, value in tree.items()}
                kind = message['kind']
            except TimeoutError:
                raise Ended('did not stop when its time was up') from None
            except EOFError:
                raise Ended('died') from None
            except Exception:
                raise Ended('sent what cannot be read') from None
            if kind != 'ask':
                return kind, fields
            try:
                self.write_views(fields.pop('views'))
                value = self.serve(**fields)
            except Exception as error:
                name = 'LookupError' if isinstance(error, Unknown) else type(error).__name__
                self.send('error', name=name, text=str(error)[:500])
            else:
                try:
                    self.reply(value)
                except (ValueError, MemoryError) as error:  # larger than a message may be
                    self.send('error', name=type(error).__name__, text=str(error)[:500])

    def reply(self, value):
        part = (
            type(value) is np.ndarray
            and value.base is not None
            and value.flags.writeable
            and value.size < 1_000_000
        )
        writer = Writer(self.refer)
        tree = writer.write(value)
        if part:
            number = len(self.objects)
            self.objects[number] = View(value)
            tree = {'view': [number, tree]}
        try:
            self.pipe.send({'kind': 'value', 'fields': {'value': tree}}, writer.blobs)
        except OSError:
            raise Ended('died') from None

    def write_views(self, views):
        for number, array in views:
            view = self.objects.get(number)
            if isinstance(view, View) and np.shape(array) == view.array.shape:
                view.array[...] = array

    def ask_student(self, kind, **fields):
        self.send(kind, **fields)
        return self.hear(self.limit)[1]

    # -------------------------------------------- what the student may do with objects of the tests

    def serve(self, op, number, args, kwargs):
        value = self.objects[number]
        if isinstance(value, View):
            raise Unknown('this')
        if op == 'ufunc':
            name, method, inputs, more = args
            import scipy.special

            ufunc = next(
                (
                    found
                    for home in (np, scipy.special)
                    if isinstance(found := getattr(home, name, 0), np.ufunc)
                ),
                None,
            )
            if ufunc is None or method not in ('__call__', 'reduce', 'accumulate', 'outer', 'at'):
                raise Unknown(name)
            return getattr(ufunc, method)(*inputs, **more)
        if op == 'function':
            name, inputs, more = args
            home, _, last = name.rpartition('.')
            found = getattr(np, last, None) or getattr(np.linalg, last, None)
            if not home.startswith('numpy') or last not in FUNCTIONS or not callable(found):
                raise Unknown(name)
            return found(*inputs, **more)
        if op in ('get', 'method'):
            name = args[0]
            if isinstance(value, np.ndarray):
                allowed = name in METHODS | FIELDS
            else:
                said = inspect.getdoc(getattr(type(value), name, None)) or ''
                allowed = not name.startswith('_') and not said.startswith('For tests')
            if not allowed:
                raise AttributeError(name)
            found = getattr(value, name)
            if op == 'method':
                return found(*args[1:], **kwargs)
            return ('method',) if callable(found) else ('value', found)
        if op == 'array':
            return np.array(value).view(np.ndarray)
        if op == 'call':
            return value(*args, **kwargs)
        if op == 'setitem':
            value[args[0]] = args[1]
            return None
        simple = dict(len=len, getitem=lambda it, key: it[key], contains=lambda it, x: x in it)
        return simple[op](value, *args)

    # ------------------------------------------------ the student's functions

    def processor(self):
        """Seconds of the processor that the student's processes have taken, as the system counts
        them."""
        return sum(map(seconds, descendants(self.process.pid)))

    def replay(self, trace, function, fields, spent):
        "Tell a trace function of the tests of the instructions that a call executed elsewhere."
        steps = fields.get('steps')
        if not isinstance(steps, int) or steps < 0:
            raise Ended('sent what cannot be read')
        frame = types.SimpleNamespace(f_globals=function.__globals__, f_trace_opcodes=False)
        sys.settrace(None)  # what the tests' function does is not counted
        try:
            for _ in range(min(steps, STEPS + 1)):
                trace(frame, 'opcode', None)
            if self.outside and spent > SPENT:
                raise AssertionError(f'{function.__name__} works longer than it may, whatever it counts')
        finally:
            sys.settrace(trace)

    def call(self, function, args, kwargs):
        counting = sys.gettrace()
        before = self.processor() if counting else 0
        arrays, places = [], []
        for place, value in [*enumerate(args), *kwargs.items()]:
            writer = Writer(lambda value: {'e': 0})
            writer.write(value)
            arrays += writer.arrays
            places += [place] * len(writer.arrays)
        self.send(
            'call',
            function=function,
            args=list(args),
            kwargs=kwargs,
            errstate=np.geterr(),
            limit=self.limit,
            most=STEPS if counting else 0,
        )
        for value in (*args, *kwargs.values()):  # the student drew from a copy
            if isinstance(value, np.random.Generator) and hasattr(value.bit_generator, 'advance'):
                value.bit_generator.advance(1 << 64)
        kind, fields = self.hear(self.limit)
        if counting and kind == 'done':
            self.replay(counting, function, fields, self.processor() - before)
            if fields.get('error'):
                kind, fields = 'error', dict(zip(('name', 'text', 'where'), fields['error']))
        if kind == 'error':
            name, text, line = (str(fields.get(at, '')) for at in ('name', 'text', 'where'))
            error = CATCHABLE.get(name, StudentError)
            words = f'{function.__name__} raised {name}: {text}' + (f' ({line})' if line else '')
            try:
                raised = error(words)
            except Exception:
                raised = StudentError(words)
            raised.of_student = True
            raise raised
        if kind != 'done' or 'value' not in fields:
            raise Ended('sent what cannot be read')
        self.write_views(fields.get('views') or [])
        for at, array in fields.get('changed') or []:
            mine, key = arrays[at], (function.__name__, str(places[at]))
            if np.shape(array) != mine.shape:
                raise Ended('sent what cannot be read')
            self.seen.add(key)
            if not self.job['learn'] and key not in self.changes:
                raise AssertionError(f'{function.__name__} changes its arguments')
            mine[...] = array
        return fields['value']


class View:
    "A part of an array of the tests that the student may write to."

    def __init__(self, array):
        self.array = array


class Unknown(Exception):
    "The student's side does it by itself."


# ---------------------------------------------------------------- one problem set


def run_tests(source, label, space):
    """Execute a cell of the tests; the value of a number that stands last (part of the points),
    otherwise None."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = tree.body[:-1] if last else tree.body
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(ast.Module(body, []), label, 'exec'), space)
        if last:
            value = eval(compile(ast.Expression(last.value), label, 'eval'), space)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                return None
            return float(value)
    return None


def short(error):
    "What an exception says, without the numbers that it compared."
    text = str(error).strip()
    if isinstance(error, AssertionError) and not hasattr(error, 'of_student'):
        text = re.sub(
            r'^(Not equal to tolerance.*|Arrays are not .*|Items are not equal:)\n?', '', text
        )
        text = re.split(
            r'\n?(?:Mismatched elements|\(shapes|nan location|inf location|x and y|\+inf|-inf'
            r'|Max absolute|Max relative| ACTUAL| DESIRED)',
            text,
        )[0]
    return ' '.join(text.split())[:300]


def explain(error, source, label):
    "What went wrong: words for the student, and whether it was a check that is kept back."
    line = next(
        (
            part.lineno
            for part in traceback.extract_tb(error.__traceback__)
            if part.filename == label
        ),
        0,
    )
    kept = any(
        source[: found.start()].count('\n') + 1 <= line <= source[: found.end()].count('\n') + 1
        for found in HIDDEN.finditer(source)
    )
    words = short(error) or 'this does not hold'
    if not isinstance(error, AssertionError) and not hasattr(error, 'of_student'):
        words = f'{type(error).__name__}: {words}'
        if kept:
            words = 'a value is of another kind or shape than asked for'
    if kept:
        return f'A check that is kept back: {words}', True
    shown = source.split('\n')[line - 1].strip() if line else ''
    return f'{words}\nin: {shown}', False


@contextlib.contextmanager
def allowed(limit):
    "So many seconds of this process for tests, whose objects a student's code may keep busy."

    def up(number, frame):
        raise AssertionError(f'the tests took more than {limit:g} seconds with this answer')

    before = signal.signal(signal.SIGPROF, up)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Submission:
    "One run through a notebook; `skip` holds cells that ended the student's process before."

    def __init__(self, job, skip):
        self.job, self.skip, self.at = job, skip, None
        self.scores, self.messages, self.outputs, self.errors = {}, {}, {}, {}
        self.session = Session(job)
        self.space = {'__name__': '__main__'}
        Function.__globals__ = self.space
        meter = types.ModuleType('tracemalloc')
        stub = Meter(self.session)
        for name in ('start', 'stop', 'get_traced_memory'):
            setattr(meter, name, getattr(stub, name))
        sys.modules['tracemalloc'] = meter

    def run(self):
        for number, item in enumerate(self.job['items']):
            self.student_side(number, item)
            self.teacher_side(number, item)
            for at in item.get('again', []):
                self.answered_again(at)

    def answered_again(self, at):
        """An answer that a cell of the student's own gives once more counts, unless all tests of the
        first one passed; of two results the better."""
        items = self.job['items']
        end = next((n for n in range(at + 1, len(items)) if items[n]['kind'] == 'solution'), len(items))
        tests = [n for n in range(at + 1, end) if items[n].get('id') in self.scores]
        short = [n for n in tests if self.scores[items[n]['id']] < items[n]['points']]
        if tests and not short:
            return
        self.fetch(at, items[at])
        for n in short:
            name = items[n]['id']
            before = self.scores[name], self.messages.pop(name, None)
            self.test(n, items[n], 'tests, again')
            if self.scores[name] < before[0]:
                self.scores[name], self.messages[name] = before

    def student_side(self, number, item):
        if item['student'] is None:
            return
        self.at = (number, 'cell')
        if self.at in self.skip:
            self.outputs[number] = [['text', f'{self.skip[self.at]}\n']]
            self.errors[number] = ['Ended', self.skip[self.at]]
            return
        self.outputs[number] = []
        for source in [item['student']] if isinstance(item['student'], str) else item['student']:
            self.session.send('run', source=source, limit=self.session.limit)
            kind, fields = self.session.hear(self.session.limit)
            said = fields.get('outputs') if kind == 'done' else []
            self.outputs[number] += said if isinstance(said, list) else []
            self.errors[number] = fields.get('error')

    def teacher_side(self, number, item):
        if item['kind'] == 'solution':
            for name in names_of(item['release']):
                self.space.pop(name, None)
            if (number, 'cell') not in self.skip:
                self.fetch(number, item)
        elif item['kind'] == 'given':
            run_tests(item['source'], f'<{number}>', self.space)
        elif item['kind'] == 'tests':
            self.test(number, item)

    def fetch(self, number, item):
        "Take what a solution is to define from the student's process."
        self.at, names = (number, 'names'), sorted(names_of(item['release']))
        if self.at in self.skip:
            return
        values = self.session.ask_student('names', names=names).get('values')
        for name, value in (values if isinstance(values, dict) else {}).items():
            if name in names:
                self.space[name] = value
                if isinstance(value, Function):
                    value.__name__ = name

    def test(self, number, item, phase='tests'):
        label, name, points = f'<tests {item["id"]}>', item['id'], item['points']
        self.at = (number, phase)
        if self.at in self.skip:
            self.scores[name], self.messages[name] = 0.0, self.skip[self.at]
            return
        self.session.objects.clear()
        np.random.seed(0)
        try:
            with allowed(self.session.limit):
                part = run_tests(item['source'], label, self.space)
        except NameError as error:
            said = f'{error.name} is not defined' if error.name else str(error)
            self.scores[name], self.messages[name] = 0.0, said
        except Exception as error:
            self.scores[name] = 0.0
            self.messages[name] = explain(error, item['source'], label)[0]
        else:
            self.scores[name] = points if part is None else float(np.clip(part, 0, points))
            if self.scores[name] < points:
                self.messages[name] = f'part of it holds: {self.scores[name]:g} of {points:g}'


def grade(job):
    """Run a submission, without the cells that end its process: scores, messages, outputs, and what
    went wrong."""
    skip, trouble, spent = {}, [], 0.0
    for _ in range(ATTEMPTS):
        one = Submission(job, skip)
        try:
            one.run()
            one.session.close(politely=True)
            spent += one.session.spent
            break
        except Ended as end:
            one.session.close()
            spent += one.session.spent
            number, phase = one.at
            item = job['items'][number]
            place = 'the tests of ' if phase.startswith('tests') else ''
            words = f'The code of {place}{item["id"]} {end}; it was left out.'
            trouble.append(words)
            skip[one.at] = words
    else:
        raise SystemExit(f'it ended {ATTEMPTS} times: {" ".join(trouble)}')
    return dict(
        scores=one.scores,
        messages=one.messages,
        outputs={str(number): said for number, said in one.outputs.items()},
        errors={str(number): said for number, said in one.errors.items()},
        changes=sorted(one.session.seen),
        trouble=trouble,
        seconds=round(spent + time.process_time(), 1),  # of the processor, as far as seen from here
    )


PIXELS = 10_000_000  # of a picture; a small file can hold gigabytes of one color


def plain(value):
    "Outputs as JSON: texts, and pictures in base 64 if they are pictures."
    import base64

    kept = []
    for entry in value if isinstance(value, list) else []:
        if not isinstance(entry, list) or len(entry) != 2:
            continue
        kind, body = entry
        if kind == 'text' and isinstance(body, str):
            kept.append(['text', body[:60_000]])
        elif kind == 'png' and isinstance(body, bytes) and body[:8] == b'\x89PNG\r\n\x1a\n':
            width, height = (int.from_bytes(body[at : at + 4], 'big') for at in (16, 20))
            if width * height > PIXELS:
                kept.append(['text', f'a picture of {width} x {height} pixels is left out\n'])
            else:
                kept.append(['png', base64.b64encode(body[:700_000]).decode()])
    return kept[:20]


def main(job, result):
    os.environ['MPLBACKEND'] = 'Agg'
    job = json.loads(Path(job).read_text(encoding='utf-8'))
    if not __debug__:
        raise SystemExit('Python runs without asserts here, and the tests are asserts')
    end_with_parent()
    restrict(int((job['limits']['memory_gb'] + 2) * 2**30), int(job['limits'].get('cpu', 3600)))
    without_sliders(''.join(item.get('source', '') for item in job['items']))
    found = grade(job)
    found['outputs'] = {number: plain(said) for number, said in found['outputs'].items()}
    found['errors'] = {
        number: [str(part)[:500] for part in said] if isinstance(said, list) else None
        for number, said in found['errors'].items()
    }
    Path(result).write_text(json.dumps(found), encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
