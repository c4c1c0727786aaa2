"""Whether the results that pages read were measured with the code as it stands.

    python docs/freshness.py          every result, what has changed since, and the line that measures it again
    python docs/freshness.py note     write docs/results/earlier.toml: what is old and cannot be measured again now, with the definitions that changed

docs/results/NAME.csv holds rows, NAME.json how they came about: command, versions, date, and the code that the script reached (bench/footprint.py). A result
whose code has changed since is measured again, or named in docs/results/earlier.toml with the reason why it still stands; the site then says on every
page that reads it that its numbers are those of an earlier version. A test holds that file to the truth.
"""
from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT/'docs'/'results'
sys.path[:0] = [part for part in (str(ROOT/'bench'), str(ROOT/'docs')) if part not in sys.path]


def names() -> list[str]: return sorted(path.stem for path in RESULTS.glob('*.csv'))


def earlier() -> dict[str, str]:
    "Results of an earlier version of the code, each with the reason why it still stands."
    path = RESULTS/'earlier.toml'
    return tomllib.loads(path.read_text(encoding='utf-8')) if path.exists() else {}


def changed() -> dict[str, list[str]]:
    "Result -> definitions that have changed since it was measured; empty where it is as the code stands."
    import run
    read, scripts = run.footprint.Code(ROOT), run.scripts()
    return {name: run.changed(name, scripts[name], read) if name in scripts else ['there is no such script'] for name in names()}


def command(name: str) -> str:
    "The line that measures a result again, as fully as it was."
    import run
    return run.story(name).get('command', f'make bench name={name}')


def faults(found: dict[str, list[str]], told: dict[str, str]) -> list[str]:
    "What is old and not said to be so, or said to be so and is not: one line each, with the way out."
    wrong = []
    for name, what in found.items():
        if what and name not in told:
            some = ', '.join(what[:4]) + (f' and {len(what) - 4} more' if len(what) > 4 else '')
            wrong.append(f'docs/results/{name}.csv is older than the code ({some}); measure again: {command(name)}; '
                         f'or give the reason why it still stands in docs/results/earlier.toml: {name} = "..."')
        if not what and name in told: wrong.append(f'docs/results/earlier.toml names {name}, which was measured with the code as it stands; take the line out')
    return wrong + [f'docs/results/earlier.toml names {name}, and there is no such result; take the line out' for name in told if name not in found]


def read_by(source: str) -> list[str]:
    "The results that the code of a page reads."
    found = re.findall(r"docs/results/(\w+)\.csv|results\('(\w+)'\)", source)
    return [name for name in dict.fromkeys(one or other for one, other in found)]


def note(source: str) -> str:
    "What a page says of results of an earlier version that it reads; nothing where there are none."
    old = [name for name in read_by(source) if name in earlier()]
    if not old: return ''
    links = ', '.join(f'[{name}](/benchmarks/runs.qmd#{name})' for name in old)
    return f'::: {{.pace}}\nMeasured with an earlier version of the code: {links}\n:::'


def noted(found: dict[str, list[str]], told: dict[str, str]) -> str:
    "The text of earlier.toml: reasons given by hand stay as long as their result is old."
    def why(what):
        short = [name.rpartition('.')[2] for name in what]
        return f'measured before these changed: {", ".join(short[:6])}' + (f' and {len(short) - 6} more' if len(short) > 6 else '')
    return ''.join(f'{name} = {json.dumps(told.get(name) or why(what))}\n' for name, what in found.items() if what)


def main() -> int:
    found, told = changed(), earlier()
    if sys.argv[1:] == ['note']:
        text = noted(found, told)
        if text: (RESULTS/'earlier.toml').write_text(text, encoding='utf-8')
        else: (RESULTS/'earlier.toml').unlink(missing_ok=True)
        told = earlier()
    for name, what in found.items():
        print(f'{name:24}' + ('as the code stands' if not what else f'{"earlier, and said so" if name in told else "old"}: {len(what)} changed, {", ".join(what[:6])}'))
    wrong = faults(found, told)
    print('\n'.join(wrong))
    return int(bool(wrong))


if __name__ == '__main__': sys.exit(main())
