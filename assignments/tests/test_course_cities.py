"The mark scheme of problem set 3, 7b names the city that the reference solution finds by counting."

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / 'assignments/source/ps3_ordinal/ps3_ordinal.ipynb'


@pytest.mark.parametrize('variant', range(4))
def test_the_city_of_7b_is_found_by_counting(variant):
    cells = nbformat.read(PAGE, 4).cells
    scheme = next(cell.source for cell in cells if cell.id == 'q7b')
    space = {}
    for cell in cells:
        wanted = (
            'import numpy',
            'def loss_and_gradient',
            'def triplet_error',
            'def keep',
            'from extreme_opt import data',
            'city_map =',
        )
        if (
            cell.cell_type != 'code'
            or not any(word in cell.source for word in wanted)
            or 'HIDDEN TESTS' in cell.source
        ):
            continue
        exec(
            compile(
                re.sub(r'(?m)^VARIANT = \d+', f'VARIANT = {variant}', cell.source),
                str(PAGE),
                'exec',
            ),
            space,
        )
        space['VARIANT'] = variant
    names, roads, (i, j, k) = list(space['names']), space['roads'], space['answers'].T
    apart = np.linalg.norm(space['city_map'][:, None] - space['city_map'], axis=2)
    failures = np.bincount(i[~(apart[i, j] < apart[i, k])], minlength=len(names))
    first, second = np.sort(failures)[:-3:-1]
    assert first > second and f'1 point: {names[failures.argmax()]}, by counting' in scheme
    one, other, between = (names.index(name) for name in ('Cologne', 'Geneva', 'Lyons'))
    assert (
        f'{roads[one, other]:.0f} km' in scheme
        and f'{roads[one, between] + roads[between, other]:.0f} km' in scheme
    )
