"""Every number that a page reads says how it came about; what has changed in the code since is a
report that fails nothing."""

import csv
import json
import re
import shutil
import subprocess
import sys

import freshness
import pytest

ROOT = freshness.RESULTS.parents[1]
sys.path.insert(0, str(ROOT / 'bench'))
import run  # noqa: E402


def test_every_result_says_how_it_came_about():
    """Beside each table of rows: command, versions, date, commit and the paths that matter; the
    rows name their versions too."""
    scripts = run.scripts()
    assert len(freshness.names()) > 20
    for name in freshness.names():
        path = freshness.RESULTS / f'{name}.json'
        assert path.exists(), (
            f'docs/results/{name}.csv has no {name}.json beside it; measure again: make bench'
            f' name={name}'
        )
        told = json.loads(path.read_text(encoding='utf-8'))
        assert told['command'].startswith(f'make bench name={name}') and re.search(
            r'numpy \d', told['versions']
        ), name
        assert re.fullmatch(r'20\d\d-\d\d-\d\d', told['date']) and re.fullmatch(
            r'[0-9a-f]{12}(\+changes)?', told['commit']
        ), name
        assert told['machine'] and told['how'] and len(told['paths']) > 1, name
        assert f'bench/{scripts[name].name}' in told['paths'], name
        with path.with_suffix('.csv').open(encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        assert rows and all(
            'numpy ' in row['versions'] or 'python ' in row['versions'] for row in rows
        ), name


@pytest.fixture
def checkout(tmp_path):
    "A checkout with a script, a helper of its own, two packages and one commit."
    if not shutil.which('git'):
        pytest.skip('needs git')
    texts = {
        'bench/one.py': 'import helper\nimport machine\nfrom extreme_opt.bound import x\n',
        'bench/helper.py': 'y = 1\n',
        'bench/machine.py': '',
        'extreme_opt/bound/a.py': 'x = 1\n',
        'extreme_opt/core/b.py': '',
        'extreme_opt/data/c.py': '',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in ('init -q', 'add .', '-c user.name=a -c user.email=a@b commit -qm x'):
        subprocess.run(['git', *words.split()], cwd=tmp_path, check=True)
    return tmp_path


def test_a_result_is_older_when_a_file_that_matters_differs_from_its_commit(checkout):
    paths = freshness.touched(checkout / 'bench/one.py', checkout)
    assert paths == ['bench/helper.py', 'bench/one.py', 'extreme_opt/bound', 'extreme_opt/core']
    told = dict(commit=freshness.here(paths, checkout), paths=paths, command='make bench name=one')
    assert re.fullmatch('[0-9a-f]{12}', told['commit']) and freshness.changed(told, checkout) == []
    (checkout / 'bench/machine.py').write_text('z = 1\n')
    (checkout / 'extreme_opt/data/c.py').write_text('z = 1\n')
    assert freshness.changed(told, checkout) == []
    assert freshness.here(paths, checkout) == told['commit']
    (checkout / 'extreme_opt/bound/a.py').write_text('x = 2\n')
    assert freshness.changed(told, checkout) == ['extreme_opt/bound/a.py']
    assert freshness.here(paths, checkout) == told['commit'] + '+changes'
    said = freshness.line('one', told, freshness.changed(told, checkout))
    assert 'extreme_opt/bound/a.py' in said and 'make bench name=one' in said


def test_without_history_the_report_says_so(checkout, tmp_path_factory):
    "A tarball has no git, a shallow clone lacks the commit: neither is called fresh or old."
    told = dict(commit='0123456789ab', paths=['bench'])
    assert freshness.changed(told, checkout) is None and freshness.changed({}, checkout) is None
    elsewhere = tmp_path_factory.mktemp('tarball')
    assert freshness.changed(told, elsewhere) is None and freshness.here(['bench'], elsewhere) == ''
    assert 'unknown' in freshness.line('one', told, None)


def test_pages_say_that_they_read_results_of_an_earlier_version(monkeypatch):
    monkeypatch.setattr(freshness, 'old', lambda: {'bound_race': ['x']})
    assert 'earlier version' in freshness.note("rows = results('bound_race')")
    assert '#bound_race' in freshness.note("Path('../../docs/results/bound_race.csv')")
    assert freshness.note("rows = results('bound_chain')") == ''


def rows_of(name, **fields):
    "Rows of a result whose fields begin so."
    with (freshness.RESULTS / f'{name}.csv').open(encoding='utf-8') as file:
        found = [
            row
            for row in csv.DictReader(file)
            if all(row[field].startswith(text) for field, text in fields.items())
        ]
    assert found, f'docs/results/{name}.csv has no row with {fields}'
    return found


def softmax_words():
    both = rows_of('softmax_500_classes')
    theirs, ours = both[0], next(row for row in both if row['method'] == 'implicit, 6 passes')
    assert theirs['peer'] == 'scikit-learn'
    default, margins = (
        [row for row in rows_of('softmax_defaults', method=name) if '500 classes' in row['task']]
        for name in ('SoftmaxClassifier()', 'LinearSVC, C tuned')
    )

    def means(rows):
        top, seconds = (
            sum(float(row[key]) for row in rows) / len(rows) for key in ('top_1', 'seconds')
        )
        return f'{top:.3f} in {seconds:.2g} s'

    n_classes, n_words = re.search(r'(\d+) functions: \d+ rows, (\d+) words', ours['task']).groups()
    return (
        f'{n_classes} classes, {int(n_words):,} words: scikit-learn takes {theirs["seconds"]} s to '
        f'a top-1 accuracy of {theirs["top_1"]} and top-5 of {theirs["top_5"]}, six passes of ours '
        f'{ours["seconds"]} s to {ours["top_1"]} and {ours["top_5"]}; on {len(default)} splits of '
        f'them `SoftmaxClassifier()` as it comes has a top-1 of {means(default)}, tuned '
        f'`LinearSVC` {means(margins)}'
    )


def similarity_words():
    (naive,) = rows_of('similarity_growth', method='naive value', task='100,000 entities')
    (ours,) = rows_of('similarity_growth', method='value', task='100,000 entities')
    return (  # half of the entities on each side
        f'50,000 by 50,000 pairs: the exact loss in {float(ours["seconds"]):.2g} s; '
        f'{float(naive["seconds"]):.2g} s with all scores formed'
    )


def ordinal_words():
    task = '1000 objects, 200000 triplets, p=10, to test error 0.15'
    peers = rows_of('ordinal_race', peer='cblearn', task=task)
    first = min(peers, key=lambda row: float(row['ratio']))
    (ste,) = rows_of('ordinal_race', method='cblearn STE', task=task)
    assert rows_of('ordinal_race', method='SVRG, ste', task=task)[0]['ratio'] == '1'
    return (
        '1,000 objects, to 15 % test error, five seeds: the fastest solver of cblearn takes '
        f'{float(first["ratio_low"]):.1f} to {float(first["ratio_high"]):.1f} times as long, its '
        f'STE {float(ste["ratio_low"]):.0f} to {float(ste["ratio_high"]):.0f}'
    )


def bound_words():
    race = {}
    for row in rows_of('bound_race', threads='1'):
        race.setdefault(row['task'].split(':')[0], {})[row['method']] = float(row['seconds'])
    ours = {name: found['Newton (ours)'] for name, found in race.items()}
    scales = race['scales 1 to 30']
    public = ('digits', 'Satellite', 'Letter')
    peers = ('lbfgs', 'newton-cg', 'newton-cholesky')
    over = [ours[name] / min(race[name][peer] for peer in peers) for name in public]
    fits = rows_of('bound_solvers', method='BoundClassifier')
    small = [row for row in fits if 'standardized' in row['task'] and 'quasi' not in row['method']]
    assert len(small) == 12
    ratios = sorted(float(row['ratio']) for row in small)
    return (
        "columns of scales 1 to 30: scikit-learn's lbfgs takes "
        f'{scales["lbfgs"] / scales["Newton (ours)"]:.1f} times as long, newton-cholesky '
        f'{scales["newton-cholesky"] / scales["Newton (ours)"]:.1f}; on '
        f'{", ".join(public[:2])} and {public[2]} we take {min(over):.1f} to {max(over):.1f} times '
        'the seconds of its fastest solver; a fit of `BoundClassifier` to a certified 1e-6 on '
        f'twelve tables of at most 500 rows {ratios[0]:.1f} to {ratios[-1]:.1f} times, median '
        f'{(ratios[5] + ratios[6]) / 2:.1f}'
    )


MEASURED = dict(softmax=softmax_words, similarity=similarity_words)
MEASURED |= dict(ordinal=ordinal_words, bound=bound_words)
NO_RESULT = (  # numbers of the front texts that were not measured
    r'python3 \(3\.11 or newer\)',
    r'\*[^*]+\* (KDD )?20\d\d\.',  # papers
    r'Apache-2\.0',
    r'\]\([^)]*\)',  # addresses of pages
    r'<img [^>]*>',
    r'```.*?```',
    r'`# check: softmax-25` marks the cell that tests formula 25',
)


@pytest.mark.parametrize('chapter', MEASURED)
def test_the_readme_says_what_was_measured(chapter):
    "The sentence of a chapter, made from the table of results, stands in its row word for word."
    (row,) = (
        line
        for line in (ROOT / 'README.md').read_text(encoding='utf-8').splitlines()
        if line.startswith(f'| **{chapter}** |')
    )
    assert [cell.strip() for cell in row.split('|')][4] == MEASURED[chapter]()


@pytest.mark.parametrize('page', ['README.md', 'nbs/index.ipynb'])
def test_the_front_texts_hold_no_other_number(page):
    "A number that no result stands behind does not come back in another place."
    text = (ROOT / page).read_text(encoding='utf-8')
    if page.endswith('.ipynb'):
        cells = json.loads(text)['cells']
        text = '\n'.join(''.join(c['source']) for c in cells if c['cell_type'] == 'markdown')
    for words in MEASURED.values():
        text = text.replace(words(), '')
    for known in NO_RESULT:
        text = re.sub(known, '', text, flags=re.DOTALL)
    assert re.findall(r'[^\n]{0,20}(?<![A-Za-z-])\d[^\n]{0,20}', text) == []


def test_numbers_of_the_front_page_are_those_of_the_results(monkeypatch):
    "The table stored in the notebook is what its cell makes of docs/results today."
    nb = json.loads((freshness.ROOT / 'nbs/index.ipynb').read_text(encoding='utf-8'))
    cells = {cell['id']: cell for cell in nb['cells']}
    table, names = cells['numbers-table'], {}
    monkeypatch.chdir(freshness.ROOT / 'nbs')
    exec(''.join(cells['numbers-imports']['source']), names)
    exec(''.join(table['source']), names)
    lines = [*names['head'], *(f'| {" | ".join(row)} |' for row in names['table'])]
    [shown] = [out['data']['text/markdown'] for out in table['outputs']]
    assert ''.join(shown).split('\n') == lines and len(lines) == 6
