"Every notebook runs, once, and still gives what is committed."
import json
import warnings

import notebooks
import pytest

PAGES = notebooks.find()
NAMES = [str(path.relative_to(notebooks.NBS).with_suffix('')) for path in PAGES]


@pytest.mark.notebook
@pytest.mark.parametrize('path', PAGES, ids=NAMES)
def test_runs_and_is_fresh(path):
    "Executed now, the page gives the committed outputs up to the tolerances of the stale check."
    said, result = notebooks.stale(path)
    if result.seconds > notebooks.REPORT:
        warnings.warn(f'{path.stem} took {result.seconds:.0f} s; pages aim at less than {notebooks.REPORT} s', stacklevel=1)
    assert said == [], f'{path.relative_to(notebooks.ROOT)} is stale; rerun with: make refresh name={path.stem}'


@pytest.mark.parametrize('path', PAGES, ids=NAMES)
def test_is_small(path):
    "A notebook stays under 400 KB and each of its cells under 150 KB of output."
    page = notebooks.read(path)
    sizes = [len(json.dumps(cell.get('outputs', []))) for cell in page['cells']]
    assert path.stat().st_size <= 400_000
    assert [notebooks.describe(page, i) for i, size in enumerate(sizes) if size > 150_000] == []


def test_there_are_notebooks():
    "The search finds the pages, in reading order, the index first."
    assert NAMES[0] == 'index' and NAMES[1:] == sorted(NAMES[1:]) and len(NAMES) > 10
