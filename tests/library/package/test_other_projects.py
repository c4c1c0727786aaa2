"""Other projects' own tests against this package under the names of their classes.

Each test of theirs passes, or is named here with the convention that differs, or asks for what is
not offered. scikit-learn brings its tests along; those of implicit and sklearn-crfsuite come with
their sources only: unpack these into the folder that `EXTREME_OPT_SUITES` names (`pip download
--no-deps --no-binary :all: sklearn-crfsuite==0.5.0`; the repository of implicit), so that it holds
`implicit/tests` and `sklearn-crfsuite/tests`. `python tests/library/package/test_other_projects.py`
writes the table that the site shows, `docs/other_suites.csv`; file names after it update theirs.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
import sklearn

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[2] / 'docs' / 'other_suites.csv'
OWN = os.environ.get('EXTREME_OPT_SUITES', '')
MOST_SECONDS = 1800  # of a file
PLUGINS = {  # what stands in for them, and the version of their tests
    'sklearn': ('as_logistic', sklearn.__version__),
    'implicit': ('as_implicit', '0.7.3'),
    'sklearn-crfsuite': ('as_crfsuite', '0.5.0'),
}
FILES = (
    'sklearn/linear_model/tests/test_logistic.py',
    *(f'sklearn/tests/test_{name}.py' for name in ('multiclass', 'multioutput', 'calibration')),
    'sklearn/tests/test_pipeline.py',
    *(f'sklearn/ensemble/tests/test_{name}.py' for name in ('bagging', 'voting', 'stacking')),
    'sklearn/model_selection/tests/test_classification_threshold.py',
    'sklearn/semi_supervised/tests/test_self_training.py',
    'implicit/tests/als_test.py',
    'sklearn-crfsuite/tests/test_crf.py',
    'sklearn-crfsuite/tests/test_metrics.py',
)
OTHERS = 'about other classes'  # tests that never make or fit ours
CV, OLD = 'not offered: LogisticRegressionCV', 'not offered: settings that scikit-learn removes'
MESSAGES = 'messages in own words, with row, column and remedy'
SEEN_LAST = 'seen entities are left out of a list, where theirs stand last'
FORMATS = 'every sparse format is taken, without a warning'
NAMED = {  # beginning of the name of a test -> why it may fail
    'test_inconsistent_input': MESSAGES,
    'test_nan': MESSAGES,
    'test_max_iter': MESSAGES,
    'test_dtype_match': 'weights are float64 for float32 rows',
    'test_c_inf_no_warning': 'ridge=0 on rows that a plane parts: a warning that no optimum exists',
    'test_penalty_none': OLD,
    'test_penalty_deprecated': OLD,
    'test_l1_ratio_None_deprecated': OLD,
    'test_lr_scoring_warns': CV,
    'test_logisticregression_warns_with_n_jobs': OLD,
    'test_logistic_regression_callback': 'not offered: callbacks',
    'test_sparsify': 'not offered: sparsify',
    'test_LogisticRegressionCV': CV,
    'test_logistic_cv': CV,
    'test_logistic_regressioncv': CV,
    'test_logisticregressioncv': CV,
    'test_logistic_regression_cv': CV,
    'test_logistic_regression_sample_weights': CV,  # the cases of it
    'test_multinomial_cv': CV,
    'test_multinomial_logistic_regression_string_inputs': CV,
    'test_scores_attribute_layout': CV,
    'test_lr_cv': CV,
    'test_n_iter': CV,
    'test_logreg_predict_proba_multinomial': 'not offered: private methods of their class',
    'test_multiclass_multioutput_estimator_predict_proba': (
        'their stored numbers are 6e-5 from the optimum'
    ),
    'test_rank_items': SEEN_LAST,
    'test_invalid_user_items': FORMATS,
    'test_fit_non_csr_matrix': FORMATS,
    'test_newton_cholesky_fallback': "not offered: the fall back of scikit-learn's newton-cholesky",
}


def outcomes(file: str, folder: Path) -> list[tuple[str, str]]:
    "Name of each test of a file, and: passed, failed, or the reason it was skipped for."
    suite, _, rest = file.partition('/')
    theirs = Path(sklearn.__file__).parent / rest if suite == 'sklearn' else Path(OWN) / file
    if not theirs.exists():
        pytest.skip(f'EXTREME_OPT_SUITES names no folder with {file}')
    report = folder / 'report.xml'
    path = os.pathsep.join([str(HERE), str(HERE.parents[2])])
    command = [sys.executable, '-m', 'pytest', '-p', PLUGINS[suite][0], '-p', 'no:cacheprovider']
    subprocess.run(
        [*command, '-q', '-c', os.devnull, f'--rootdir={folder}', f'--junitxml={report}', theirs],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': path, 'OMP_NUM_THREADS': '1'},
        capture_output=True,
        timeout=MOST_SECONDS,
    )
    found = []
    for case in ElementTree.parse(report).iter('testcase'):
        skip = case.find('skipped')
        bad = case.find('failure') is not None or case.find('error') is not None
        said = 'failed' if bad else 'passed' if skip is None else skip.get('message', '')
        if said == 'passed' and case.find("properties/property[@name='used']") is not None:
            said = OTHERS
        found.append((case.get('name', ''), said))
    return found


def why(name: str, said: str) -> str:
    "What became of a test: passed, a named reason, or failed."
    if said == 'failed':
        return next((NAMED[start] for start in NAMED if name.startswith(start)), said)
    kept = said in ('passed', OTHERS) or said.startswith('not offered')
    return said if kept else 'skipped by themselves'


@pytest.mark.slow
@pytest.mark.parametrize('file', FILES)
def test_their_tests_pass_or_are_named(file, tmp_path):
    found = outcomes(file, tmp_path)
    assert len(found) >= 5, found
    assert [name for name, said in found if why(name, said) == 'failed'] == []


def rows_of_table() -> list[dict]:
    with TABLE.open(encoding='utf-8') as file:
        return list(csv.DictReader(file))


def test_the_table_is_of_these_files():
    rows = rows_of_table()
    assert list(dict.fromkeys(row['tests'] for row in rows)) == list(FILES)
    assert not [row for row in rows if row['became'] == 'failed']
    others = [row for row in rows if not row['tests'].startswith('sklearn/')]
    assert all(row['version'] == PLUGINS[row['tests'].partition('/')[0]][1] for row in others)


def test_the_page_shows_the_table():
    page = TABLE.parents[1] / 'nbs' / 'evidence' / '50_tried_in_public.ipynb'
    page = json.loads(page.read_text(encoding='utf-8'))
    outputs = [out for cell in page['cells'] for out in cell.get('outputs', [])]
    shown = ''.join(''.join(out.get('data', {}).get('text/markdown', '')) for out in outputs)
    for row in rows_of_table():
        line = next(line for line in shown.splitlines() if line.startswith(f'| {row["tests"]}, '))
        became = row['became'].removeprefix('not offered: ')
        alone = became in ('passed', OTHERS, 'skipped by themselves')
        assert f'{row["count"]} |' in line if alone else f'{became} ({row["count"]})' in line, row


def write(files: list[str]) -> None:
    "Run these files, and write their rows into the table."
    rows = [row for row in rows_of_table() if row['tests'] in FILES and row['tests'] not in files]
    for tests in files:
        with tempfile.TemporaryDirectory() as folder:
            found = outcomes(tests, Path(folder))
        counts = Counter(why(name, said) for name, said in found)
        print(tests, dict(counts), [n for n, said in found if why(n, said) == 'failed'])
        version = PLUGINS[tests.partition('/')[0]][1]
        rows += [
            dict(tests=tests, version=version, became=became, count=count)
            for became, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
    rows.sort(key=lambda row: FILES.index(row['tests']))
    with TABLE.open('w', newline='', encoding='utf-8') as file:
        table = csv.DictWriter(file, ['tests', 'version', 'became', 'count'], lineterminator='\n')
        table.writeheader()
        table.writerows(rows)


if __name__ == '__main__':
    write(sys.argv[1:] or list(FILES))
