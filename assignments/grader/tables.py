"""Tables as spreadsheets save them: the same names as in extreme_opt.data, for the grader."""

import csv
import io
import re
from pathlib import Path
from types import SimpleNamespace


def read_fields(source, header=True, encoding=('utf-8', 'cp1252')):
    "The rows of a table, its names, separator and encoding; ValueError where it is none."
    data = source.read() if hasattr(source, 'read') else Path(source).read_bytes()
    if data[:4] == b'PK\x03\x04' or b'\0\0\0' in data:
        raise ValueError('this is no CSV: save the sheet as CSV UTF-8')
    marks = {b'\xef\xbb\xbf': 'utf-8-sig', b'\xff\xfe': 'utf-16', b'\xfe\xff': 'utf-16'}
    known = [name for mark, name in marks.items() if data.startswith(mark)]
    for name in known or encoding:
        try:
            text = data.decode(name)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise ValueError('neither UTF-8 nor Windows-1252')
    first = re.sub(r'"[^"]*"', '', text).lstrip('\ufeff').split('\n', 1)[0]
    sep = max(',;\t', key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=''), delimiter=sep, strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise ValueError('there are no rows')
    if wrong := [row for row in rows if len(row) != len(rows[0])]:
        raise ValueError(f'a row of {len(wrong[0])} in place of {len(rows[0])} fields: {wrong[0][0][:40]!r}')
    names = rows.pop(0) if header else [f'x{n}' for n in range(len(rows[0]))]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    return SimpleNamespace(names=names, rows=rows, sep=sep, encoding=name, records=lambda: records)


def parse_number(text):
    "A number with a point or a comma before its decimals; ValueError where it is none or unclear."
    if not re.fullmatch(r'\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)\s*', text) or re.search(r',\d{3}\s*$', text):
        raise ValueError(f'no number: {text!r}')
    return float(text.replace(',', '.'))
