"""scikit-learn's own tests against `BoundClassifier` under the name `LogisticRegression`.

Each test of theirs passes, or is named here with the convention that differs, or asks for what is
not offered. `python tests/library/package/test_other_projects.py` writes the table that the site
shows, `docs/other_suites.csv`.
"""

import csv
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
import sklearn

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[2] / 'docs' / 'other_suites.csv'
FILES = (  # their files on calibration, pipelines and ensembles take too long here
    'linear_model/tests/test_logistic.py',
    'tests/test_multiclass.py',
    'semi_supervised/tests/test_self_training.py',
)
CV, OLD = 'not offered: LogisticRegressionCV', 'not offered: settings that scikit-learn removes'
MESSAGES = 'messages in own words, with row, column and remedy'
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
    'test_newton_cholesky_fallback': "not offered: the fall back of scikit-learn's newton-cholesky",
}


def outcomes(file: str, folder: Path) -> list[tuple[str, str]]:
    "Name of each test of a file, and: passed, failed, or the reason it was skipped for."
    report = folder / 'report.xml'
    path = os.pathsep.join([str(HERE), str(HERE.parents[2])])
    command = [sys.executable, '-m', 'pytest', '-p', 'as_logistic', '-p', 'no:cacheprovider', '-q']
    subprocess.run(
        [*command, '-c', os.devnull, f'--rootdir={folder}', f'--junitxml={report}']
        + [str(Path(sklearn.__file__).parent / file)],
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': path, 'OMP_NUM_THREADS': '1'},
        capture_output=True,
    )
    found = []
    for case in ElementTree.parse(report).iter('testcase'):
        skip = case.find('skipped')
        bad = case.find('failure') is not None or case.find('error') is not None
        said = 'failed' if bad else 'passed' if skip is None else skip.get('message', '')
        found.append((case.get('name', ''), said))
    return found


def why(name: str, said: str) -> str:
    "What became of a test: passed, a named reason, or failed."
    if said == 'failed':
        return next((NAMED[start] for start in NAMED if name.startswith(start)), said)
    return said if said == 'passed' or said.startswith('not offered') else 'skipped by themselves'


@pytest.mark.slow
@pytest.mark.parametrize('file', FILES)
def test_their_tests_pass_or_are_named(file, tmp_path):
    found = outcomes(file, tmp_path)
    assert sum(said == 'passed' for _, said in found) >= 5, found[:5]
    assert [name for name, said in found if why(name, said) == 'failed'] == []


def test_the_table_is_of_these_files():
    with TABLE.open(encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert {row['tests'] for row in rows} == {'sklearn/' + file for file in FILES}
    assert not [row for row in rows if row['became'] == 'failed']


def write(folder: Path) -> None:
    "Run all, and write the table."
    with TABLE.open('w', newline='', encoding='utf-8') as file:
        table = csv.writer(file, lineterminator='\n')
        table.writerow(['tests', 'version', 'became', 'count'])
        for tests in FILES:
            found = outcomes(tests, folder)
            counts = Counter(why(name, said) for name, said in found)
            print(tests, dict(counts), [n for n, said in found if why(n, said) == 'failed'])
            for became, count in sorted(counts.items(), key=lambda item: -item[1]):
                table.writerow([f'sklearn/{tests}', sklearn.__version__, became, count])


if __name__ == '__main__':
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
