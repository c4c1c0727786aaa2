"Fetching and loading: from a local server, from a folder, and the real files where present."

import bz2
import gzip
import hashlib
import http.server
import io
import json
import os
import stat
import sys
import tarfile
import threading
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from scipy import sparse

from extreme_opt import data
from extreme_opt.data import fetching
from extreme_opt.data.fetching import DatasetInfo, Download, FileSpec

TEXT = b'0,1,2\n3,4,5\n'
HASH = hashlib.sha256(TEXT).hexdigest()


def zipped(*members):
    "A zip file of (name, content) pairs; a name may be a ZipInfo."
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as pack:
        for name, content in members:
            pack.writestr(name, content)
    return file.getvalue()


def tarred(*members):
    "A tar file of (TarInfo or name, content) pairs."
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode='w:gz') as pack:
        for name, content in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content)
            pack.addfile(info, io.BytesIO(content))
    return file.getvalue()


SERVED = {
    'good.csv': TEXT,
    'good.csv.gz': gzip.compress(TEXT),
    'good.csv.bz2': bz2.compress(TEXT),
    'other.csv': TEXT + b'6,7,8\n',
    'short.csv.gz': gzip.compress(os.urandom(500))[:-40],
    'pack.zip': zipped(('set/good.csv', TEXT), ('set/README', b'terms')),
    'pack.tar.gz': tarred(('set/good.csv', TEXT)),
    'evil.zip': zipped(('good.csv', TEXT), ('../evil', b'x')),
    'page.zip': b'<html>moved</html>',
}


def answer(body=TEXT, status='200 OK', **headers):
    lines = [f'HTTP/1.1 {status}', *(f'{k.replace("_", "-")}: {v}' for k, v in headers.items())]
    return '\r\n'.join(lines + ['', '']).encode() + body


CHUNKED = dict(Transfer_Encoding='chunked')
HOSTILE = {  # what a server may send, and what is said of it
    'nothing': (b'', 'closed connection'),
    'no-http': (TEXT, '0,1,2'),
    'login': (answer(b'<html>log in</html>'), 'has 19 bytes, expected 12'),
    'login-12': (answer(b'<html></html'), 'has checksum'),
    'ended': (answer(Content_Length=99), 'ended after 12 of 99 bytes'),
    'minus': (answer(Content_Length=-5)[:-6], 'has 6 bytes, expected 12'),
    'huge': (answer(Content_Length='9' * 30)[:-1], 'has 11 bytes, expected 12'),
    'words': (answer(Content_Length='many')[:-1], 'has 11 bytes, expected 12'),
    'less': (answer(Content_Length=6), 'has 6 bytes, expected 12'),
    'some': (answer(TEXT[:6], '206 Partial Content', Content_Range='bytes 0-5/12'), '6 bytes'),
    'none': (answer(b'', '204 No Content'), 'has 0 bytes'),
    'packed': (answer(gzip.compress(TEXT), Content_Encoding='gzip'), 'bytes, expected 12'),
    'cut-chunk': (answer(b'ffff\r\n0,1', **CHUNKED), 'IncompleteRead'),
    'no-chunk': (answer(b'zz\r\n0,1', **CHUNKED), 'cannot get'),
    'long-chunk': (answer(b'f' * 1_000_000, **CHUNKED), 'cannot get'),
    'many-heads': (b'HTTP/1.1 200 OK\r\n' + b'a: b\r\n' * 100_000, 'more than 100 headers'),
    'long-head': (b'HTTP/1.1 200 OK\r\na: ' + b'b' * 10_000_000, 'header line'),
    'no-place': (answer(b'', '302 Found'), '302'),
    'bad-place': (answer(b'', '302 Found', Location='http://[::1'), 'Invalid IPv6 URL'),
    'lines': (answer(b'', '302 Found', Location='http://a\x0b\x01b/c'), 'cannot get'),
    'to-data': (answer(b'', '302 Found', Location='data:text/plain,0'), 'not allowed'),
    'error': (answer(b'x' * 10_000_000, '500 ' + 'sorry ' * 9000), 'cannot get'),
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `SERVED`; cut-off.csv is shorter than promised; endless.csv, drip.csv and heads.csv
    never end; others redirect."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        name = self.path.rsplit('/', 1)[-1]
        self.server.asked.append((self.command, name))
        if name in ('endless.csv', 'drip.csv', 'heads.csv'):
            return self.never_ends(name)
        if name in HOSTILE:
            self.wfile.write(HOSTILE[name][0])
            self.close_connection = True
            return None
        if name.startswith('to-'):
            return self.redirects(name)
        body = TEXT if name == 'cut-off.csv' else SERVED.get(name)
        self.send_response(200 if body is not None else 404)
        self.send_header(
            'Content-Length', str(len(body or b'') + (1000 if name == 'cut-off.csv' else 0))
        )
        self.end_headers()
        if self.command == 'GET':
            self.wfile.write(body or b'')

    def redirects(self, name):
        "The text of the answer never ends; nobody has to read it."
        port = self.server.server_address[1]
        target = {
            'to-file': 'file:///etc/passwd',
            'to-ftp': f'ftp://127.0.0.1:{port}/good.csv',
            'to-itself': f'http://127.0.0.1:{port}/to-itself',
            'to-drip': f'http://127.0.0.1:{port}/drip.csv',
            'to-other': f'http://localhost:{port}/other.csv',
            'to-good': f'http://localhost:{port}/good.csv',
        }[name]
        self.send_response(302)
        self.send_header('Location', target)
        self.never_ends('redirect')

    def never_ends(self, name):
        if name != 'redirect':
            self.send_response(200)
        self.flush_headers()
        try:
            while name == 'heads.csv' and not self.server.stopped:
                self.wfile.write(b'X: y\r\n')
                time.sleep(0.05)
            self.end_headers()
            while not self.server.stopped:
                self.wfile.write(b'0' * (8 if name == 'drip.csv' else 1 << 16))
                self.server.sent += 8 if name == 'drip.csv' else 1 << 16
                if name == 'drip.csv':
                    time.sleep(0.05)
        except OSError:
            pass  # the client has hung up

    def log_message(self, *_):
        pass


@pytest.fixture(scope='module')
def server():
    "An HTTP server on this machine."
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as one:
        one.asked, one.sent, one.stopped = [], 0, False
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one
        one.stopped = True
        one.shutdown()


@pytest.fixture
def home(server, tmp_path, monkeypatch):
    "A cache of its own, the server's address, and no proxy in between."
    monkeypatch.setenv('EXTREME_OPT_CACHE', str(tmp_path / 'cache'))
    monkeypatch.setenv('NO_PROXY', '127.0.0.1')
    monkeypatch.setenv('no_proxy', '127.0.0.1')
    for name in ('EXTREME_OPT_MIRROR', 'EXTREME_OPT_DATA'):
        monkeypatch.delenv(name, raising=False)
    server.asked.clear()
    return f'http://127.0.0.1:{server.server_address[1]}'


@pytest.fixture
def toy(home, monkeypatch):
    "Put a set of one remote file into the table."

    def put(file, keeps=(FileSpec('good.csv', len(TEXT), HASH),), packed='', size=None):
        monkeypatch.setitem(
            data.DATASETS,
            'toy',
            DatasetInfo(
                'ordinal', home, 'ask first', (Download(f'{home}/{file}', keeps, packed, size),)
            ),
        )

    return put


def folder_is_clean(cache):
    "Nothing but records and kept files; no half-written debris."
    return not [path for path in Path(cache).rglob('*') if path.name.startswith('.')]


# ------------------------------------------------------------------------------- fetch
@pytest.mark.parametrize(
    'file, packed',
    [
        ('good.csv', ''),
        ('good.csv.gz', 'decompress'),
        ('good.csv.bz2', 'decompress'),
        ('pack.zip', 'archive'),
        ('pack.tar.gz', 'archive'),
    ],
)
def test_a_good_file(toy, server, home, capsys, file, packed):
    "Terms are shown, the content is checked and recorded, and the second call asks nobody."
    toy(file, packed=packed)
    folder = data.fetch('toy')
    said = capsys.readouterr().err
    assert 'ask first' in said and 'MB' in said and home in said
    assert (folder / 'good.csv').stat().st_size == len(TEXT)
    assert (folder / 'good.csv').read_bytes() == TEXT and folder_is_clean(folder.parent)
    record = json.loads((folder / 'fetched.json').read_text())['good.csv']
    assert record == dict(source=f'{home}/{file}', bytes=len(TEXT), sha256=HASH, verified=True)
    server.asked.clear()
    assert data.fetch('toy') == folder and server.asked == [] and capsys.readouterr().err == ''


def test_what_cannot_be_verified_is_recorded(toy):
    "No checksum known: the record says so and holds the one that arrived."
    toy('good.csv', (FileSpec('good.csv'),))
    assert data.DATASETS['toy'].verified == 'no'
    with pytest.warns(UserWarning, match='no checksum is known for good.csv, so what arrives'):
        data.fetch('toy', quiet=True)
    record = json.loads((data.fetch('toy', quiet=True) / 'fetched.json').read_text())['good.csv']
    assert record['verified'] is False and record['sha256'] == HASH


@pytest.mark.parametrize(
    'text', ['[' * 100_000, '{"good.csv": {}}', '{"good.csv": {"bytes": 12, "sha256": 7}}', '[1]']
)
def test_reliability_a_record_that_is_none_vouches_for_nothing(toy, text):
    "A record without a checksum took any content; one of another type was a raw error."
    folder = data.fetch(toy('good.csv') or 'toy', quiet=True)
    (folder / 'good.csv').write_bytes(b'9' * len(TEXT))
    (folder / 'fetched.json').write_text(text)
    refuses('good.csv.* has checksum .*force=True', data.fetch, 'toy', quiet=True)


@pytest.mark.parametrize(
    'file, packed, error, words',
    [
        ('other.csv', '', ValueError, 'expected'),  # another version
        ('short.csv.gz', 'decompress', ValueError, 'damaged'),  # cut short before it was served
        ('cut-off.csv', '', ConnectionError, 'by hand'),  # the connection breaks off
        ('nowhere.csv', '', ConnectionError, '404'),
        ('to-file', '', ConnectionError, 'not allowed'),
        ('to-ftp', '', ConnectionError, 'from http to ftp'),
        ('to-itself', '', ConnectionError, 'infinite loop'),
        ('to-other', '', ValueError, 'expected'),  # another host, with another content
        ('page.zip', 'archive', ValueError, 'page.zip is damaged'),  # a page that says "moved"
        ('evil.zip', 'archive', ValueError, 'points outside the folder'),
        ('pack.zip', 'decompress', ValueError, 'damaged|2 files'),
    ],
)
def test_a_bad_file_leaves_nothing(toy, tmp_path, file, packed, error, words):
    "One line; no kept file, no debris, nothing outside; and what was there before stays."
    toy(file, packed=packed)
    with pytest.raises(error, match=words) as caught:
        data.fetch('toy', quiet=True)
    assert '\n' not in str(caught.value)
    cache = tmp_path / 'cache'
    assert not (cache / 'data/toy/good.csv').exists() and folder_is_clean(cache)
    assert not list(tmp_path.rglob('evil'))
    toy('good.csv')
    data.fetch('toy', quiet=True)
    toy(file, packed=packed)
    with pytest.raises(error):
        data.fetch('toy', quiet=True, force=True)
    assert (cache / 'data/toy/good.csv').read_bytes() == TEXT


@pytest.mark.parametrize('name', HOSTILE)
def test_reliability_hostile_answers_of_a_server(toy, tmp_path, name):
    "One line that names the address, nothing kept, and memory that does not grow with the answer."
    toy(name)
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, ConnectionError), match=HOSTILE[name][1]) as caught:
            data.fetch('toy', quiet=True, timeout=20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    said = str(caught.value)
    assert '\n' not in said and f'/{name}' in said and len(said) < 500
    assert not [path for path in (tmp_path / 'cache').rglob('*') if path.is_file()]
    assert peak < 1 << 25


def test_offline_names_the_file_and_the_place(toy, tmp_path, monkeypatch):
    "Without a server: one line with file and folder; a file placed by hand is checked and taken."
    toy('good.csv.gz', packed='decompress')
    with pytest.raises(ConnectionError) as caught:
        data.fetch('toy', quiet=True, mirror='http://127.0.0.1:9')
    folder = tmp_path / 'cache/data/toy'
    assert f'place good.csv.gz by hand in {folder}' in str(caught.value)
    assert '\n' not in str(caught.value)
    (folder / 'good.csv.gz').write_bytes(gzip.compress(TEXT + b'x'))
    refuses('force=True', data.fetch, 'toy', quiet=True)
    (folder / 'good.csv.gz').write_bytes(SERVED['good.csv.gz'])
    assert (data.fetch('toy', mirror='http://127.0.0.1:9') / 'good.csv').read_bytes() == TEXT


@pytest.mark.parametrize('size', [2 << 20, None])
def test_a_server_that_never_ends_is_cut_off(toy, server, tmp_path, monkeypatch, size):
    "The download stops at the declared size, or at the limit of a file without one."
    server.sent = 0
    toy('endless.csv', (FileSpec('good.csv', size, max_size=1 << 20),))
    refuses('sends more than', data.fetch, 'toy', quiet=True, raises=ConnectionError)
    assert server.sent < 1 << 26 and folder_is_clean(tmp_path / 'cache')
    assert not list(tmp_path.rglob('good.csv'))


@pytest.mark.parametrize('file', ['drip.csv', 'heads.csv', 'to-drip'])
def test_a_slow_server_runs_into_the_time_limit(toy, tmp_path, file):
    """Some bytes every twentieth of a second, of the content or of the lines before it: no single
    read times out, the whole does."""
    toy(file, (FileSpec('good.csv'),))
    start = time.monotonic()
    with pytest.raises(ConnectionError, match='not complete after 0.5 seconds'):
        data.fetch('toy', quiet=True, timeout=0.5)
    assert time.monotonic() - start < 20 and folder_is_clean(tmp_path / 'cache')


@pytest.mark.parametrize('file, packed', [('bomb.csv.gz', 'decompress'), ('bomb.zip', 'archive')])
def test_compressed_bombs_stop_at_the_declared_size(toy, tmp_path, monkeypatch, file, packed):
    "Fifty megabytes of zeros where twelve bytes were declared: refused, and never on the disk."
    zeros = bytes(50_000_000)
    monkeypatch.setitem(SERVED, 'bomb.csv.gz', gzip.compress(zeros))
    monkeypatch.setitem(SERVED, 'bomb.zip', zipped(('good.csv', zeros)))
    written = []
    monkeypatch.setattr(fetching, '_verify', lambda path, *_: written.append(path))
    toy(file, packed=packed)
    refuses('unpacks to .*more than', data.fetch, 'toy', quiet=True)
    assert not written and folder_is_clean(tmp_path / 'cache')


@pytest.mark.parametrize('known', [dict(size=13), dict(size=11), dict(size=None, max_size=11)])
def test_a_known_size_is_compared(toy, tmp_path, known):
    "Without a checksum a body of another length is not kept."
    toy('good.csv', (FileSpec('good.csv', **known),), size=100)
    refuses(r'has 12 bytes, expected .*1\d', data.fetch, 'toy', quiet=True)
    assert not (tmp_path / 'cache/data/toy/good.csv').exists()


@pytest.mark.parametrize('hash_', [HASH, ''])
def test_a_kept_file_that_changed_is_noticed(toy, hash_):
    "Checked again at every call, against the registry or the record; force=True downloads anew."
    toy('good.csv', (FileSpec('good.csv', len(TEXT), hash_),))
    folder = data.fetch('toy', quiet=True)
    (folder / 'good.csv').write_bytes(TEXT[::-1])
    refuses('force=True', data.fetch, 'toy', quiet=True)
    assert (data.fetch('toy', quiet=True, force=True) / 'good.csv').read_bytes() == TEXT


def test_old_staging_folders_are_removed(toy, tmp_path):
    "What a killed run left behind goes after a day; a younger one may be at work."
    toy('good.csv')
    old, young = tmp_path / 'cache/data/toy/.part-old', tmp_path / 'cache/data/toy/.part-young'
    for one in (old, young):
        one.mkdir(parents=True)
    os.utime(old, (0, 0))
    data.fetch('toy', quiet=True)
    assert not old.exists() and young.exists()


def test_a_staging_folder_may_vanish_while_others_look(tmp_path, monkeypatch):
    "Another process ends its download between the listing and the look at its age."
    gone = tmp_path / '.part-gone'
    monkeypatch.setattr(Path, 'glob', lambda self, pattern: iter([gone]))
    fetching._remove_old_stages(tmp_path)


def test_mirrors(toy, server, home, tmp_path, monkeypatch):
    "Another server or a folder replaces the public address, by argument or by environment."
    toy('good.csv')
    (tmp_path / 'stick').mkdir()
    (tmp_path / 'stick/good.csv').write_bytes(TEXT)
    data.fetch('toy', mirror=tmp_path / 'stick', quiet=True)
    assert server.asked == []
    monkeypatch.setenv('EXTREME_OPT_MIRROR', f'{home}/elsewhere/')
    data.fetch('toy', force=True, quiet=True)
    assert ('GET', 'good.csv') in server.asked


def test_pooch_is_asked_for_politely(toy, monkeypatch):
    "Without pooch: one line with the command; what is there already needs no pooch."
    toy('good.csv')
    monkeypatch.setitem(sys.modules, 'pooch', None)
    with pytest.raises(ModuleNotFoundError, match=r'extreme_opt\[data\]'):
        data.fetch('toy')


def test_sets_for_hands(home, tmp_path):
    "Built in, or to be placed: the line says which; a misspelt name gets the list."
    refuses('built in', data.fetch, 'eurodist', raises=FileNotFoundError)
    refuses('train_triplets.txt.* by hand in', data.fetch, 'food-taste', raises=FileNotFoundError)
    refuses('write.table', data.fetch, 'srbct', raises=FileNotFoundError)
    refuses("'mnits' is no public set; expected one of bibtex", data.fetch, 'mnits')
    (tmp_path / 'cache/data/food-taste').mkdir(parents=True)
    (tmp_path / 'cache/data/food-taste/train_triplets.txt').write_text('00000 00001 00002\n')
    assert data.load('food-taste', test_size=0).triplets.tolist() == [[0, 1, 2]]


def test_another_host_may_serve_what_is_checked_but_no_weaker_scheme(toy):
    toy('to-good')
    assert (data.fetch('toy', quiet=True) / 'good.csv').read_bytes() == TEXT
    for old, new in (('http', 'https'), ('https', 'https'), ('http', 'http')):
        fetching._check_redirect(f'{old}://a/b', f'{new}://c/d')
    with pytest.raises(OSError, match='from https to http: http://c/d'):
        fetching._check_redirect('https://a/b', 'http://c/d')


@pytest.mark.parametrize('name', [name for name, one in data.DATASETS.items() if one.downloads])
def test_a_file_of_another_length_is_refused_for_every_set(home, tmp_path, name):
    "Twelve bytes in place of each file; only a set without sizes and checksums would keep them."
    for one in data.DATASETS[name].downloads:
        (tmp_path / one.name).write_bytes(TEXT)
    known = [kept.size is not None or kept.hash for kept in data.DATASETS[name].downloads[0].files]
    if not all(known):
        assert data.DATASETS[name].verified == 'no'
        return
    refuses('nothing was kept', data.fetch, name, mirror=tmp_path, quiet=True)
    assert not (tmp_path / 'cache/data' / name / 'fetched.json').exists()
    assert folder_is_clean(tmp_path / 'cache')


def test_two_fetches_at_once(toy):
    "Eight threads want the same set; each gets it, whole."
    toy('pack.zip', packed='archive')
    found = []

    def fetched():
        found.append((data.fetch('toy', quiet=True) / 'good.csv').read_bytes())

    threads = [threading.Thread(target=fetched) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [TEXT] * 8


# ------------------------------------------------------------------------------- unpack
def link(kind, name='link', target='/etc/passwd'):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_link():
    info = zipfile.ZipInfo('link')
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    'raw',
    [
        zipped(('fine', b'x'), ('..', b'x')),
        *[tarred(('fine', b'x'), (name, b'x')) for name in ('../evil', '/evil', 'a/../../evil')],
        zipped(('fine', b'x'), (zip_link(), b'/etc/passwd')),
        *[
            tarred(('fine', b'x'), (link(kind), b''))
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
        ],
    ],
)
def test_hostile_archives_are_refused_whole(tmp_path, raw):
    "Not even the harmless member before the hostile one is written."
    (tmp_path / 'a').write_bytes(raw)
    refuses('refused', data.fetching.unpack, tmp_path / 'a', tmp_path / 'out')
    assert [path.name for path in tmp_path.rglob('*')] == ['a']


def test_damaged_archives_and_bombs(tmp_path):
    "Cut archives, doubled names, and a member that swells beyond the limit."
    path = tmp_path / 'a'
    cases = [SERVED['pack.zip'][:-10], SERVED['pack.zip'][:60], SERVED['pack.tar.gz'][:60], b'']
    cases += [b'PK\3\4']
    for raw in cases:
        path.write_bytes(raw)
        refuses('damaged', data.fetching.unpack, path, tmp_path / 'out')
    path.unlink()
    with pytest.raises(FileNotFoundError):  # what the system says is no damage
        data.fetching.unpack(path, tmp_path / 'out')
    with pytest.warns(UserWarning, match='Duplicate'):
        path.write_bytes(zipped(('x', b'1'), ('x', b'2')))
    refuses('damaged', data.fetching.unpack, path, tmp_path / 'out2')


@pytest.mark.parametrize('kind', ['gnu name', 'pax', 'pax global', 'many members', 'content'])
def test_reliability_headers_of_an_archive_have_limits(tmp_path, kind):
    "B5: a 1.2 MB archive with a name of 1.2 GB took 2.5 to 3.7 GB."
    resource = pytest.importorskip('resource')
    path, size = tmp_path / 'a.tar.gz', 1 << 28
    info = tarfile.TarInfo('././@LongLink' if kind == 'gnu name' else 'x')
    info.type = dict(gnu_name=b'L', pax=b'x', pax_global=b'g').get(kind.replace(' ', '_'), b'0')
    info.size = 0 if kind == 'many members' else size
    block = info.tobuf(tarfile.PAX_FORMAT if 'pax' in kind else tarfile.GNU_FORMAT)
    with gzip.open(path, 'wb', 1) as file:
        if kind == 'many members':
            for _ in range(70):
                file.write(block * 1000)
        else:
            file.write(block)
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))
        file.write(bytes(1024))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refuses('refused', data.fetching.unpack, path, tmp_path / 'out', max_bytes=100)
    assert not (tmp_path / 'out').exists()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000  # kilobytes


def test_reliability_the_checksum_of_an_archive_comes_first(toy, home, monkeypatch):
    "What another archive holds is not even looked at."
    monkeypatch.setattr(data.fetching, 'unpack', None)
    kept = (FileSpec('good.csv', len(TEXT), HASH),)
    one = Download(f'{home}/pack.zip', kept, 'archive', hash='0' * 64)
    monkeypatch.setitem(data.DATASETS, 'toy', DatasetInfo('ordinal', home, 'ask', (one,)))
    refuses('pack.zip has checksum .* expected 000', data.fetch, 'toy', quiet=True)


# ------------------------------------------------------------------------------- the table
def test_the_table_is_in_order():
    "https or a home that has none, 64-digit checksums, a loader for every set, no doubled file."
    assert set(data.DATASETS) == {
        *'mnist bibtex delicious brown yeast ml-1m ml-100k wikipedia-links eurodist music-artists'
        ' zappos-shoes material-similarity food-taste food100 uci-multiclass srbct'
        ' conll2000'.split()
    }
    for name, one in data.DATASETS.items():
        assert one.terms and one.home
        assert one.chapter in ('softmax', 'similarity', 'ordinal', 'bound')
        assert one.downloads or one.by_hand
        assert isinstance(data.load_options(name), dict)
        kept = [k for remote in one.downloads for k in remote.files]
        assert len({k.name for k in kept}) == len(kept)
        for k in kept:
            assert not k.hash or len(k.hash.removeprefix('git:')) == (
                40 if k.hash.startswith('git:') else 64
            )
        assert all(
            remote.url.startswith(('https://', 'http://vision.cornell.edu/'))
            for remote in one.downloads
        )
        for k in kept:
            assert k.hash or k.limit <= 20_000_000  # a checksum, or a declared limit


# --------------------------------------------------------------------------- load, on made-up files
def test_load_reads_what_fetch_would_bring(tmp_path):
    "Other layouts: full ratings of ml-1m, scaled UCI tables, food100 with names, text chunks."
    (tmp_path / 'ratings.dat').write_text('1::10::5::0\n1::11::2::0\n2::10::4::0\n2::12::5::0\n')
    (tmp_path / 'users.dat').write_text('1::F::1::10::48067\n2::M::56::16::70072\n')
    (tmp_path / 'movies.dat').write_bytes(
        '10::Le Caf\xe9 (1995)::Comedy\n11::B::Drama\n12::C::Comedy|Drama\n'.encode('latin-1')
    )
    liked = data.load('ml-1m', folder=tmp_path, test_size=1 / 3)
    assert sorted(map(tuple, liked.observed.tolist())) == [(0, 0), (1, 0), (1, 1)]
    assert len(liked.test) == 1 and liked.right_names[0] == 'Le Café (1995)'
    assert liked.right_features.toarray().tolist() == [[1, 0], [1, 1]]
    assert liked.left_features.shape == (2, 6)
    assert len(data.load('ml-1m', folder=tmp_path, which='all', features=False).observed) == 4
    assert len(data.load('ml-1m', folder=tmp_path, min_rating=5).observed) == 2

    (tmp_path / 'vowel').write_text('0 1:-1 2:.5\n1 1:1\n')
    (tmp_path / 'vowel.t').write_text('1 2:.25\n')
    vowel = data.load('uci-multiclass', folder=tmp_path, table='Vowel', standardize=False)
    assert vowel.features.tolist() == [[-1, 0.5], [1, 0], [0, 0.25]] and vowel.test.tolist() == [2]
    assert vowel.class_names.tolist() == ['0', '1']
    scaled = data.load('uci-multiclass', folder=tmp_path, table='Vowel')
    assert scaled.features.tolist() == [[-1, 1], [1, -1], [0, 0]]  # by the training rows

    food = b'a.jpg; b.jpg; c.jpg\na.jpg;b.jpg;c.jpg\nb.jpg;c.jpg;a.jpg\n'
    packed = zipped(('food100-dataset/all-triplets.csv', food))
    (tmp_path / 'food100-dataset.zip').write_bytes(packed)
    food = data.load('food100', folder=tmp_path, test_size=0)
    assert food.names.tolist() == ['a.jpg', 'b.jpg', 'c.jpg']
    assert food.triplets.tolist() == [[0, 1, 2], [1, 2, 0]]

    for part in ('train', 'test'):
        (tmp_path / f'{part}.txt').write_text('He PRP B-NP\nran VBD B-VP\n\nHe PRP B-NP\n')
    chunks = data.load('conll2000', folder=tmp_path, min_count=1)
    assert chunks.class_names.tolist() == ['B-NP', 'B-VP']
    assert len(chunks.train) == len(chunks.test) == 3
    there = chunks.features[[1]].toarray()[0] != 0
    # nothing leaks from the next sentence
    names = ['word-1=He', 'word=ran', 'end=ran', 'tag-1=PRP', 'tag=VBD']
    assert np.array(chunks.feature_names)[there].tolist() == names


EDGES = {'chameleon_edges.csv': '1,2\n'}


@pytest.mark.parametrize(
    'name, files, words',
    [
        ('ml-100k', {'u.data': '1\t2\n'}, 'no stars in line 1'),
        (
            'ml-100k',
            {'u.data': '1\t2\t5\t0\n', 'u.user': '1|24\n', 'u.genre': 'a|0\n', 'u.item': ''},
            'line 1 of u.user has 2 fields',
        ),
        ('wikipedia-links', EDGES | {'chameleon_features.json': '{"1": [2'}, 'no JSON file'),
        ('wikipedia-links', EDGES | {'chameleon_features.json': '[]'}, 'holds a list at line 1'),
        (
            'material-similarity',
            {'answers_processed_train.json': '{"answers": [[0, 1, 2]], "agreement": [[3]]}'},
            'expected (n, 3) ids',
        ),
        ('conll2000', {'train.txt': 'He PRP\n'}, 'train.txt has 2 columns'),
        ('eurodist', {'eurodist.csv': 'city,A,B\nA,0,1\n'}, 'square table'),
        ('food-taste', {}, 'food-taste needs train_triplets.txt in'),
    ],
)
def test_load_refuses(tmp_path, name, files, words):
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    refuses(words, data.load, name, folder=tmp_path, raises=(ValueError, FileNotFoundError))


def test_prepare_keeps_dense_and_sparse_alike():
    "The same rows, dense and CSR, give the same problem under every option."
    rng = np.random.default_rng(0)
    dense = (rng.random((40, 6)) * (rng.random((40, 6)) < 0.4)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 3, 40))])
    labels = rng.integers(0, 9, starts[-1])
    for first in (True, False):
        cases = [{}, dict(unit_norm=True), dict(drop_empty=True, n_features=4), dict(relabel=False)]
        for options in cases:
            a, b = (
                data.prepare(
                    data.formats.Multilabel(form, labels, starts, 9), first_label=first, **options
                )
                for form in (dense, sparse.csr_array(dense))
            )
            np.testing.assert_allclose(b.features.toarray(), a.features, rtol=1e-6)
            np.testing.assert_array_equal(a.labels, b.labels)
            assert a.class_names.tolist() == b.class_names.tolist() and a.stats == b.stats
            assert a.stats['n_unlabeled'] == (np.diff(starts) == 0).sum()
            if options.get('unit_norm'):
                norms = np.linalg.norm(a.features, axis=1)
                np.testing.assert_allclose(norms[norms > 0], 1, rtol=1e-6)
    assert a.n_classes == 9


# -------------------------------------------------------------------------- load, on the real files
@pytest.fixture(scope='module')
def real():
    "The folder of real files, or a skip that counts as a failure where the variable is set."
    folder = os.environ.get('EXTREME_OPT_DATA')
    if not folder:
        pytest.skip('needs EXTREME_OPT_DATA')
    return Path(folder)


MULTICLASS = [  # name, options, rows in train and test, columns, classes in train, entries
    ('bibtex', dict(part='train'), 4880, 0, 1836, 146, 334_250),
    ('bibtex', {}, 4880, 2515, 1836, 146, 334_250 + 173_496),
    ('delicious', dict(part='train'), 12_910, 0, 500, 352, None),
    ('delicious', dict(first_label=False, part='train'), 246_088, 0, 500, None, None),
    ('yeast', {}, 1500, 917, 103, None, None),
    ('mnist', dict(part='test', n_features=None), 10_000, 0, 784, 10, None),
    ('uci-multiclass', {}, None, None, 16, 26, 20_000),
    ('uci-multiclass', dict(table='Satellite'), None, None, 36, 6, 6435),
    ('uci-multiclass', dict(table='Shuttle'), None, None, 9, 7, 58_000),
    ('uci-multiclass', dict(table='Vehicle'), None, None, 18, 4, 846),
    ('uci-multiclass', dict(table='Vowel'), None, None, 10, 11, 990),
    ('uci-multiclass', dict(table='DNA'), None, None, 180, 3, 3186),
    ('srbct', {}, None, None, 2308, 4, 83),
    ('conll2000', {}, 211_727, 47_377, None, 22, None),
    ('conll2000', dict(target='pos'), 211_727, 47_377, None, 44, None),
]


@pytest.mark.parametrize('name, options, n_train, n_test, n_features, n_classes, count', MULTICLASS)
def test_real_multiclass(real, name, options, n_train, n_test, n_features, n_classes, count):
    "Counts as the notes beside the files state them; unit rows where that is the default."
    found = data.load(name, **options)
    if n_train is not None:
        assert (len(found.train), len(found.test)) == (n_train, n_test)
    if n_features is not None:
        assert found.n_features == n_features
    if n_classes is not None:
        assert len(np.unique(found.train_labels)) == n_classes
    if count is not None:
        assert count == (found.features.nnz if sparse.issparse(found.features) else found.n_samples)
    assert found.labels.min() == 0 and found.labels.max() < found.n_classes
    assert found.features.dtype == np.float32
    if 'unit_norm' in data.load_options(name):
        norms = np.sqrt(np.asarray(found.features.multiply(found.features).sum(axis=1)).ravel())
        assert np.all((norms == 0) | (abs(norms - 1) < 1e-5))


def test_real_mnist(real):
    "The paper's shape: 60,000 rows, 780 columns, ten classes; class counts of the training part."
    found = data.load('mnist', part='train')
    assert found.features.shape == (60_000, 780)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(found.labels).tolist() == counts
    pixels = data.formats.read_idx(real / 'mnist/train-images-idx3-ubyte.gz')
    assert np.count_nonzero(pixels) == 8_994_156 == found.features.nnz


def test_real_brown(real):
    "Tokens, sentences, word types and the vocabulary at ten occurrences."
    found = data.load('brown')
    counts = [found.stats[f'n_{name}'] for name in ('tokens', 'sentences', 'words')]
    assert counts == [1_161_192, 57_340, 49_815]
    assert found.n_classes == 8504 == len(np.unique(found.labels))
    assert round(1000 * found.n_samples / 1_161_192) == 918
    assert np.bincount(found.labels)[np.flatnonzero(found.class_names == 'the')[0]] == 69_971


PAIRS = [  # name, options, pairs, left, right, test
    ('ml-1m', {}, 571_531, 5949, 2810, 57_532),
    ('ml-1m', dict(which='all', features=False), 1_000_209, 6040, 3706, 100_021),
    ('ml-1m', dict(which='ratings'), 279_124, None, None, None),
    ('ml-100k', {}, 55_375, 942, 1447, 5538),
    ('ml-100k', dict(min_rating=0), 100_000, 943, 1682, 10_000),
    ('ml-100k', dict(min_rating=3), 82_520, None, None, None),
    ('wikipedia-links', {}, 36_101, 2277, 864, 3610),
    ('wikipedia-links', dict(graph='crocodile'), 180_020, 11_631, 3365, 18_002),
]


@pytest.mark.parametrize('name, options, n_pairs, n_left, n_right, n_test', PAIRS)
def test_real_pairs(real, name, options, n_pairs, n_left, n_right, n_test):
    "Counts as the notes beside the files state them; both sides numbered without gaps."
    found = data.load(name, **options)
    assert len(found.observed) == n_pairs and len(np.intersect1d(found.train, found.test)) == 0
    if n_left:
        assert (found.n_left, found.n_right, len(found.test)) == (n_left, n_right, n_test)
    assert [len(np.unique(column)) for column in found.observed.T] == [found.n_left, found.n_right]
    if name == 'ml-1m' and not options:
        assert found.right_features.shape[1] == 18 and found.right_names[0] == 'Toy Story (1995)'
    if name == 'wikipedia-links' and not options:
        assert found.left_features.shape == (2277, 3132)
        assert abs(found.left_features.nnz / 2277 - 21.5) < 0.1


TRIPLETS = [  # name, options, train, test, objects
    ('eurodist', {}, 3986, 0, 21),
    ('music-artists', dict(test_size=0), 9090, 0, 400),
    ('music-artists', dict(degenerate='keep', test_size=0), 9107, 0, 400),
    ('music-artists', {}, 7272, 1818, 400),
    ('zappos-shoes', dict(test_size=0), 283_770, 0, 85),
    ('food-taste', dict(test_size=0), 59_508, 0, 5000),
    ('material-similarity', {}, 92_892, 11_800, 100),
    ('material-similarity', dict(votes='majority'), 22_801 - 1395, 3000 - 262, 100),
]


@pytest.mark.parametrize('name, options, n_train, n_test, n_objects', TRIPLETS)
def test_real_triplets(real, name, options, n_train, n_test, n_objects):
    "Counts as the notes beside the files state them."
    found = data.load(name, **options)
    assert (len(found.train), len(found.test), found.n_objects) == (n_train, n_test, n_objects)
    assert len(found.names) == n_objects
    if name == 'eurodist':
        assert (
            data.load('eurodist', folder=real / 'eurodist').names.tolist()
            == data.eurodist()[1].tolist()
        )


def test_real_files_have_the_checksums_of_the_table(real, tmp_path):
    "Every checksum and size of the table that can be compared with a file at hand is right."
    compared = 0
    for name, one in data.DATASETS.items():
        for kept in (k for remote in one.downloads for k in remote.files):
            places = real / name / kept.name, real / name / (kept.name + '.gz')
            path = next((place for place in places if place.exists()), None)
            if path is None or not kept.hash or kept.hash.startswith('git:'):
                continue
            content = path.read_bytes()
            if path.suffix == '.gz' and not kept.name.endswith('.gz'):
                content = gzip.decompress(content)
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (kept.hash, kept.size), (
                kept.name
            )
            compared += 1
    assert compared >= 25
