"Every notebook runs, once, and its stored outputs belong to its code."

import json

import notebooks
import pytest

PAGES = notebooks.find()
NAMES = [str(path.relative_to(notebooks.NBS).with_suffix('')) for path in PAGES]


@pytest.mark.parametrize('path', PAGES, ids=NAMES)
def test_runs(path, record_property):
    "The page runs from top to bottom and its assertions hold; its figures are drawn small."
    result = notebooks.execute(path, draft=True)
    if result.cpu > notebooks.REPORT:
        record_property('note', notebooks.slow_note(path, result.cpu))


def test_outputs_belong_to_the_code():
    """Nothing is executed: the digest that `make refresh` stored is that of the code cells as they
    stand."""
    said = {path: notebooks.stale(notebooks.read(path)) for path in PAGES}
    wrong = [
        f'{path.relative_to(notebooks.ROOT)} {why}; run: make refresh name={path.stem}'
        for path, why in said.items()
        if why
    ]
    if wrong:
        pytest.fail('\n'.join(wrong), pytrace=False)


def test_sizes():
    """A notebook stays under 800 KB and each of its cells under 500 KB of output, sliders with all
    their figures included."""
    for path in PAGES:
        page = notebooks.read(path)
        large = [
            i
            for i, cell in enumerate(page['cells'])
            if len(json.dumps(cell.get('outputs', []))) > 500_000
        ]
        assert path.stat().st_size <= 800_000, path
        assert [notebooks.describe(page, i) for i in large] == [], path
