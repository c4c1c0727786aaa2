"""Processor time of the tests: `python -m pytest --cpu-table` prints a table by file and one by
marker.

With EXTREME_OPT_LONG_TESTS=1 it also writes tests/long_tests.txt: the functions whose costliest
case takes more than half a second, which `make check` leaves to `make test`. A test is charged with
what its process and the children that the process has waited for used from the end of the test
before it.
"""

import os
from collections import defaultdict
from pathlib import Path

LONG = 0.5
MARKERS = ('notebook', 'browser', 'site', 'setup', 'slow')


def used() -> float:
    return sum(os.times()[:4])


class CpuTable:
    def __init__(self):
        self.mark = used()
        self.rows = defaultdict(
            lambda: [0.0, 0.0, set()]
        )  # file or marker -> processor seconds, seconds by the clock, tests
        self.tests = defaultdict(float)
        self.start = 0.0

    def pytest_collection_finish(self, session):
        self.start = self.mark = used()
        if hasattr(session.config, 'workeroutput'):
            session.config.workeroutput['cpu_before'] = self.start

    def pytest_testnodedown(self, node, error):
        self.start += getattr(node, 'workeroutput', {}).get('cpu_before', 0.0)

    def charge(self, item, report):
        """Called for the set-up, the call and the tear-down of each test, in the process that ran
        it."""
        now = used()
        names = [name for name in MARKERS if item.get_closest_marker(name)]
        report.user_properties = [
            *report.user_properties,
            ('cpu', (now - self.mark, names[0] if names else 'unmarked')),
        ]
        self.mark = now

    def pytest_runtest_logreport(self, report):
        found = [value for key, value in report.user_properties if key == 'cpu']
        if not found:
            return
        cpu, marker = found[-1]
        for name in (report.nodeid.partition('::')[0], f'marked {marker}'):
            row = self.rows[name]
            row[0] += cpu
            row[1] += report.duration
            row[2].add(report.nodeid)
        self.tests[report.nodeid] += cpu

    def pytest_terminal_summary(self, terminalreporter):
        write = terminalreporter.write_line
        write(f'{"processor s":>12}{"clock s":>9}{"tests":>7}')
        for name, (cpu, clock, tests) in sorted(
            self.rows.items(), key=lambda item: (item[0].startswith('marked'), -item[1][0])
        ):
            write(f'{cpu:12.1f}{clock:9.1f}{len(tests):7}  {name}')
        write(f'{sum(self.tests.values()):12.1f}{"":9}{len(self.tests):7}  all tests')
        write(f'{self.start:12.1f}{"":16}  start and collection, all processes')
        write('the tests that take most:')
        for name in sorted(self.tests, key=lambda name: -self.tests[name])[:40]:
            write(f'{self.tests[name]:12.1f}  {name}')
        if os.environ.get('EXTREME_OPT_LONG_TESTS') == '1':
            short = {
                name.partition('@')[0].partition('[')[0].partition('/')[2]
                for name, cpu in self.tests.items()
                if cpu > LONG
            }
            (Path(__file__).parent / 'long_tests.txt').write_text(
                ''.join(f'{name}\n' for name in sorted(short)), encoding='utf-8'
            )
