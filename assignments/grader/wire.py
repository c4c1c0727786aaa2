"""What crosses the pipe between the tests and a student's code: numbers, text, containers, arrays
and references; never code.

Both sides import this file. A message is a JSON tree and the bytes of its arrays. What a side does
not know how to write becomes `Opaque`, an object that equals nothing.
"""

import builtins
import contextlib
import ctypes
import json
import math
import os
import re
import resource
import select
import signal
import struct
import time

import numpy as np

LIMIT = 256 << 20  # bytes of a message
ELEMENTS = 2_000_000  # values of a message: each takes up to 300 bytes here
DTYPE = re.compile(r'[<>|=]?[biufcSU]\d{1,4}')
TYPES = {'float': float, 'int': int, 'bool': bool, 'complex': complex, 'str': str, 'list': list}
CATCHABLE = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, StopIteration | StopAsyncIteration | UnicodeError)
}


def end_with_parent():
    "This process ends when the one that began it does, where the system can do that."
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def restrict(memory, cpu):
    "Bytes and seconds of the processor that this process may take, in all."
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))


def without_sliders(source):
    "Sliders draw nothing where code is marked."
    if 'extreme_opt.show' in source:
        import extreme_opt.show

        extreme_opt.show.live = lambda function, **values: None


class Opaque:
    "Something that does not cross the pipe."

    def __init__(self, name):
        self._name = str(name)[:80]

    def __repr__(self):
        return f'<{self._name}>'


class Writer:
    """Writes values as a tree; `refer(value)` writes what is neither number, text, container nor
    array."""

    def __init__(self, refer):
        self.refer, self.blobs, self.size, self.n = refer, [], 0, 0
        self.arrays = []  # the arrays written, in order

    def _blob(self, data):
        self.blobs.append(data)
        self.size += len(data)
        if self.size > LIMIT:
            raise ValueError(f'a value of more than {LIMIT >> 20} MB')
        return [self.size - len(data), len(data)]

    def write(self, value, depth=0):
        if depth > 40:
            return {'o': 'nested too deeply'}
        self.n += 1
        if self.n > ELEMENTS:
            raise ValueError(f'more than {ELEMENTS} values')
        if value is None or type(value) in (bool, int, float, str):
            return value
        deeper = depth + 1
        if isinstance(value, np.generic) and DTYPE.fullmatch(value.dtype.str):
            return {'n': [value.dtype.str, *self._blob(value.tobytes())]}
        if type(value) is np.ndarray and DTYPE.fullmatch(value.dtype.str):
            self.arrays.append(value)
            return {'a': [value.dtype.str, list(value.shape), *self._blob(value.tobytes())]}
        if isinstance(value, bool | int | float | str):
            return next(kind for kind in (bool, int, float, str) if isinstance(value, kind))(value)
        if isinstance(value, complex):
            return {'c': [value.real, value.imag]}
        if isinstance(value, bytes):
            return {'b': self._blob(value)}
        for tag, kind in (('l', list), ('t', tuple), ('s', set | frozenset)):
            if isinstance(value, kind):
                return {tag: [self.write(one, deeper) for one in value]}
        if isinstance(value, dict):
            return {
                'd': [[self.write(k, deeper), self.write(v, deeper)] for k, v in value.items()]
            }
        if isinstance(value, range) and abs(value.stop - value.start) // abs(value.step) > ELEMENTS:
            return {'o': 'a range of many numbers'}
        if isinstance(value, slice | range):
            parts = [self.write(getattr(value, at), deeper) for at in ('start', 'stop', 'step')]
            return {'sl' if isinstance(value, slice) else 'r': parts}
        if value is Ellipsis:
            return {'e': 0}
        if isinstance(value, np.dtype) or (
            isinstance(value, type) and issubclass(value, np.generic)
        ):
            return {'dt': np.dtype(value).str}
        if isinstance(value, type) and TYPES.get(value.__name__) is value:
            return {'ty': value.__name__}
        if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value:
            return {'u': value.__name__}
        if isinstance(value, np.random.Generator):
            state = value.bit_generator.state
            if state.get('bit_generator') == 'PCG64':
                return {'g': state}
        return self.refer(value)


class Reader:
    "Reads what Writer wrote; `find(tag, body)` reads references. Bad input raises ValueError."

    def __init__(self, blob, find):
        self.blob, self.find, self.arrays = blob, find, []

    def _bytes(self, start, length):
        if not 0 <= start <= start + length <= len(self.blob):
            raise ValueError('bytes that are not there')
        return self.blob[start : start + length]

    def read(self, tree):
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if not isinstance(tree, dict) or len(tree) != 1:
            raise ValueError('a tree of another kind')
        ((tag, body),) = tree.items()
        if tag == 'a':
            dtype, shape, start, length = body
            if not DTYPE.fullmatch(dtype) or math.prod(shape) * np.dtype(dtype).itemsize != length:
                raise ValueError('an array that does not fit its bytes')
            array = np.frombuffer(self._bytes(start, length), dtype).reshape(shape).copy()
            self.arrays.append(array)
            return array
        if tag == 'n':
            dtype, start, length = body
            if not DTYPE.fullmatch(dtype):
                raise ValueError('no number')
            return np.frombuffer(self._bytes(start, length), dtype)[0]
        if tag in ('l', 't', 's'):
            return {'l': list, 't': tuple, 's': set}[tag](self.read(one) for one in body)
        if tag == 'd':
            return {self.read(key): self.read(value) for key, value in body}
        if tag in ('sl', 'r'):
            parts = [self.read(one) for one in body]
            if tag == 'sl':
                return slice(*parts)
            if abs(parts[1] - parts[0]) // abs(parts[2]) > ELEMENTS:
                raise ValueError('a range of many numbers')
            return range(*parts)
        simple = {
            'c': lambda: complex(*map(float, body)),
            'b': lambda: self._bytes(*body),
            'e': lambda: Ellipsis,
            'ty': lambda: TYPES[body],
            'o': lambda: Opaque(body),
        }
        if tag in simple:
            return simple[tag]()
        if tag == 'dt' and DTYPE.fullmatch(body):
            return np.dtype(body)
        if tag == 'u' and isinstance(getattr(np, body, None), np.ufunc):
            return getattr(np, body)
        if tag == 'g':
            rng = np.random.default_rng(0)
            rng.bit_generator.state = body
            return rng
        return self.find(tag, body)


class Pipe:
    """Messages over two file descriptors. End of file raises EOFError, a deadline that passes
    TimeoutError."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.watch = None  # called every second of waiting

    def send(self, fields, blobs=()):
        body = json.dumps(fields).encode()
        data = b''.join([struct.pack('>QQ', len(body), sum(map(len, blobs))), body, *blobs])
        view = memoryview(data)
        while view:
            view = view[os.write(self.writer, view) :]

    def _read(self, length, deadline):
        parts = []
        while length:
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError('no answer in time')
                if not select.select([self.reader], [], [], min(left, 1))[0]:
                    if self.watch:
                        self.watch()
                    continue
            part = os.read(self.reader, min(length, 1 << 20))
            if not part:
                raise EOFError('the other side is gone')
            parts.append(part)
            length -= len(part)
        return b''.join(parts)

    def receive(self, deadline=None):
        "(fields, blob) of the next message."
        sizes = struct.unpack('>QQ', self._read(16, deadline))
        if max(sizes) > LIMIT:
            raise ValueError('a message that is too long')
        body = self._read(sizes[0], deadline)
        if sum(map(body.count, (b',', b'[', b'{'))) > 3 * ELEMENTS:
            raise ValueError('a message of too many values')
        fields = json.loads(body)
        if not isinstance(fields, dict):
            raise ValueError('a message of another kind')
        return fields, self._read(sizes[1], deadline)
