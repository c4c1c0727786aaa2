"""Marks answers as the grader does, the tests in this process and the answers in another:
`python pipe.py` reads from its input what to call, and prints what it answers, both as JSON."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'grader'), str(HERE.parent)]
import verify  # noqa: E402
from grader import intake, sandbox  # noqa: E402


def job_of(kind, scratch, seconds, items=(), learn=False):
    "What `verify.Submission` asks for."
    limits = dict(seconds=seconds, memory_gb=4)
    command, env, stop = sandbox.command(kind, None, None, None, Path(scratch), limits)
    places = sandbox.places(kind, None, None, None, Path(scratch))
    told = dict(items=list(items), limits=limits, changes=[], learn=learn, outside=True)
    return told | dict(command=command, env=env, stop=stop, places=places)


def counted(kind, scratch, answers, tests, steps):
    "Points and message of each answer to one question, whose tests count instructions by `steps`."
    one, said = verify.Submission(job_of(kind, scratch, 60), {}), {}
    exec(steps, one.space)
    for name, code in answers.items():
        solved = dict(kind='solution', student=code, release='def total(n): pass', id='total', points=0)
        asked = dict(kind='tests', student=None, id=name, points=1, source=tests)
        one.student_side(0, solved)
        one.teacher_side(0, solved)
        one.test(1, asked)
        said[name] = one.scores[name], one.messages.get(name)
    one.session.close()
    return said


def odd(kind, scratch, answers):
    """Answers to a set (source.ipynb and release.ipynb in `scratch`) that do not earn what they should,
    and tests that the reference does not pass."""
    import extreme_opt.show

    extreme_opt.show.live = lambda function, **values: None
    cells, release = (intake.cells_of(Path(scratch) / f'{one}.ipynb') for one in ('source', 'release'))
    items = intake.line_up(cells, release, cells, 0, [])
    starts = [at for at, item in enumerate(items) if item['kind'] == 'solution'] + [len(items)]
    job = job_of(kind, scratch, 300, items, learn=True)

    def run(at, item):
        one.student_side(at, item)
        one.teacher_side(at, item)

    def begin(upto):
        nonlocal one
        one = verify.Submission(job, {})
        for at, item in enumerate(items[:upto]):
            run(at, item)

    def earns(number, code):
        "Points over all tests of a question; a new process where the answer ended this one."
        total = 0
        try:
            run(number, dict(items[number], student=code))
            for at in range(number + 1, starts[starts.index(number) + 1]):
                if items[at]['kind'] == 'tests':
                    one.test(at, items[at])
                    total += one.scores[items[at]['id']]
                else:
                    run(at, items[at])
        except verify.Ended:
            one.session.close()
            begin(number)
        return total

    one, found = None, []
    begin(0)
    for number, item in enumerate(items):
        for name, should, code in answers.get(item['id'], []) if item['kind'] == 'solution' else []:
            if (points := earns(number, code)) != should:
                found.append([item['id'], name, points, should])
        run(number, item)
        if item['kind'] == 'tests' and one.scores[item['id']] != item['points']:
            found.append([item['id'], 'the reference', one.messages[item['id']]])
    one.session.close()
    return found


if __name__ == '__main__':
    told = json.load(sys.stdin)
    print(json.dumps(globals()[told.pop('call')](**told)))
