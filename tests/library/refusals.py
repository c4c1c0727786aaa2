"What a refusal is: an error of one line that names what is wrong."

import re

import pytest


def refuses(words, call, /, *args, raises=ValueError, **more):
    "Call, and return the one line it is refused with; `words` stand in it, or match."
    with pytest.raises(raises) as caught:
        call(*args, **more)
    said = str(caught.value)
    assert words in said or re.search(words, said), said
    assert '\n' not in said
    return said
