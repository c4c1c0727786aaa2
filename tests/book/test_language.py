"""Code speaks the field's words: names of version 0.1 and private words are gone, spelling is
American."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / 'extreme_opt'
PACKAGES = ('bound', 'core', 'data', 'lab', 'ordinal', 'scale', 'show', 'similarity', 'softmax')
BANNED = set(
    """
    max_steps n_steps n_steps_ max_passes n_passes tolerance n_threads progress n_others patience
    decay descend_at descend_each descend_corrected snapshot curvature_times bound_at
    term_curvature rough_inverse curvature_probe record_on n_free ask_for prox_at every
    price prices way ways chances shares bends room rooms wish lent
    Gone Lost Here There _ask_ahead _Look _Course _Keeper
    """.split()
)
BRITISH_PENDING = {'similarity': {'catalogue'}}
BRITISH = re.compile(
    r'\b\w*(?:colour|behaviour|neighbour|favour|labell|modell|catalogue|centre\b|centred|analyse'
    r'|(?:penal|minim|maxim|normal|initial|optim|regular|general|factor|summar|vector)is(?:e|ing))\w*',
    re.I,
)


def identifiers(path: Path) -> set[str]:
    "Names, arguments, attributes and definitions of a file."
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        for field in ('id', 'arg', 'attr', 'name'):
            if isinstance(word := getattr(node, field, None), str):
                found.add(word)
    return found


def test_every_package_is_named():
    assert {path.parent.name for path in PACKAGE.glob('*/__init__.py')} == set(PACKAGES)


@pytest.mark.parametrize('package', PACKAGES)
def test_no_banned_word(package):
    found = BANNED & set().union(*map(identifiers, (PACKAGE / package).rglob('*.py')))
    assert not found, f'extreme_opt/{package} has {sorted(found)}; see CHANGELOG.md, 0.2.0'


@pytest.mark.parametrize('package', PACKAGES)
def test_american_spelling(package):
    found = {
        word.lower()
        for path in (PACKAGE / package).rglob('*.py')
        for word in BRITISH.findall(path.read_text(encoding='utf-8'))
    } - BRITISH_PENDING.get(package, set())
    assert not found, f'extreme_opt/{package} spells {sorted(found)}'


def test_a_banned_word_is_found(tmp_path):
    (tmp_path / 'one.py').write_text('def f(way):\n    return way.tolerance\n', encoding='utf-8')
    assert identifiers(tmp_path / 'one.py') >= {'way', 'tolerance'}
    assert BRITISH.findall('the colour of a labelled row') == ['colour', 'labelled']
