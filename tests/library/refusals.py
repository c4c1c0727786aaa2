"What a refusal is: an error of one line that names what is wrong. And silence, asked for or made."

import contextlib
import re
import warnings

import pytest


@contextlib.contextmanager
def no_warning(kind=Warning, action='error'):
    "A warning inside is an error."
    with warnings.catch_warnings():
        warnings.simplefilter(action, kind)
        yield


def unheard(kind=Warning):
    "Warnings inside are passed over."
    return no_warning(kind, 'ignore')


def refuses(words, call, /, *args, raises=ValueError, **more):
    "Call, and return the one line it is refused with; `words` stand in it, or match."
    with pytest.raises(raises) as caught:
        call(*args, **more)
    said = str(caught.value)
    assert words in said or re.search(words, said), said
    assert '\n' not in said
    return said
