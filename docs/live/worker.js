// Python in a worker: a WebAssembly module, files in memory, one turn a cell. It fetches its own files, then gives up
// every way to the network and to storage before it runs any code of a page.
import { Directory, Fd, File, OpenFile, PreopenDirectory, WASI, WASIProcExit } from './shim/index.js';

const IMAGE = 'image.gz';  // the memory of Python with what pages import, where build.py could make it
const LIBRARIES = { 'library.zip': '/usr/local/lib/python315.zip', 'sklearn.zip': '/lib/sklearn.zip' };
const here = new URL('.', import.meta.url);
const post = (kind, said = {}) => self.postMessage({ kind, ...said });
let instance, source;

// ---- loading: every part is a .gz file that is unpacked here, so that any static host will do
let loaded = 0, total = 0, sizes = {}, hashes = {};

const address = name => new URL(hashes[name] ? `${name}?${hashes[name]}` : name, here);

async function sent(name) {
  const answer = await fetch(address(name));
  if (!answer.ok) throw new Error(`${name}: the server answers ${answer.status}`);
  const reader = answer.body.getReader();
  const first = await reader.read();
  let next = first;
  const counted = new ReadableStream({
    async pull(to) {
      if (next.done) return to.close();
      loaded += next.value.byteLength;
      post('progress', { loaded, total });
      to.enqueue(next.value);
      next = await reader.read();
    },
  });
  return { body: counted, packed: first.value?.[0] === 0x1f && first.value?.[1] === 0x8b };  // some hosts unpack .gz themselves
}

const unpacked = ({ body, packed }) => packed ? body.pipeThrough(new DecompressionStream('gzip')) : body;
const part = async name => unpacked(await sent(name));

async function wasm(kept) {  // where a service worker keeps it unpacked, it has an address, and the browser keeps its compiled code
  const name = 'python.wasm', answer = kept && await fetch(new URL(`${name}?${hashes[`${name}.gz`]}`, here)).catch(() => null);
  if (!answer?.ok) return new Response(await part(`${name}.gz`), { headers: { 'content-type': 'application/wasm' } });
  post('progress', { loaded: loaded += sizes[`${name}.gz`], total });
  return answer;
}

const bytes = async name => new Response(await part(name)).arrayBuffer();

function unzip(buffer) {  // a zip that holds files as they are: [path, bytes], without a copy
  const view = new DataView(buffer), text = new TextDecoder(), found = [];
  let end = buffer.byteLength - 22;
  while (view.getUint32(end, true) !== 0x06054b50) end--;
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left; left--) {
    const size = view.getUint32(at + 24, true), name = view.getUint16(at + 28, true), head = view.getUint32(at + 42, true);
    const from = head + 30 + view.getUint16(head + 26, true) + view.getUint16(head + 28, true);
    found.push([text.decode(new Uint8Array(buffer, at + 46, name)), new Uint8Array(buffer, from, size)]);
    at += 46 + name + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return found;
}

// ---- files
const file = (content, options) => Object.assign(new File([], options), { data: content });

// With the image no page needs the libraries, so each comes when an import asks for it: the module cannot wait, so the worker does.
class Later extends File {
  constructor(length, bring) { super([], { readonly: true }); Object.assign(this, { length, bring }); }
  get size() { return BigInt(this.length); }
  get data() {
    try {
      return this.content ??= this.bring();
    } catch (error) {
      post('stream', { name: 'stderr', text: `This import needs a part of Python that is not on this computer yet: ${error.message}\n` });
      return new Uint8Array();
    }
  }
  set data(content) {}  // the constructor of File sets some
}

function brought(name) {  // has its request before `quiet` takes away all others, and asks for nothing but this file
  const asked = new XMLHttpRequest();
  return () => {
    asked.open('GET', address(name), false);
    asked.responseType = 'arraybuffer';
    asked.send();
    if (asked.status !== 200) throw new Error(`${name}: the server answers ${asked.status}`);
    return new Uint8Array(asked.response);
  };
}

function put(root, path, entry) {
  const parts = path.split('/').filter(Boolean), last = parts.pop();
  let at = root;
  for (const one of parts) {
    if (!at.contents.has(one)) at.contents.set(one, new Directory(new Map()));
    at = at.contents.get(one);
  }
  at.contents.set(last, entry);
}

class Printed extends Fd {  // what libraries print past Python
  constructor(name) { super(); this.name = name; this.text = new TextDecoder(); }
  fd_write(data) { post('stream', { name: this.name, text: this.text.decode(data, { stream: true }) }); return { ret: 0, nwritten: data.byteLength }; }
  fd_fdstat_get() { return { ret: 0, fdstat: { write_bytes(view, at) { for (let i = 0; i < 24; i++) view.setUint8(at + i, 0); view.setUint8(at, 2); } } }; }
}

// ---- three mends of the shim: rights of open files, clocks of processes and threads, waiting
function mended(wasi) {
  const plain = wasi.wasiImport, view = () => new DataView(instance.exports.memory.buffer);
  return {
    ...plain,
    sched_yield: () => 0,
    fd_fdstat_get(fd, at) {
      const answer = plain.fd_fdstat_get(fd, at);
      if (!answer) { view().setBigUint64(at + 8, ~0n, true); view().setBigUint64(at + 16, ~0n, true); }
      return answer;
    },
    clock_time_get(id, precision, at) {
      if (id < 2) return plain.clock_time_get(id, precision, at);
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    poll_oneoff(from, to, count, counted) {  // files are ready at once; the nearest clock is waited for
      const ready = [], clocks = [];
      for (let k = 0; k < count; k++) {
        const at = from + 48 * k, kind = view().getUint8(at + 8), user = view().getBigUint64(at, true);
        if (kind) { ready.push({ user, kind }); continue; }
        const now = view().getUint32(at + 16, true) ? performance.now() : Date.now();
        const absolute = view().getUint16(at + 40, true) & 1;
        clocks.push({ user, kind, wait: Math.max(0, Number(view().getBigUint64(at + 24, true)) / 1e6 - (absolute ? now : 0)) });
      }
      if (!ready.length) {
        const wait = Math.min(...clocks.map(one => one.wait)), until = performance.now() + wait;
        while (performance.now() < until);
        ready.push(...clocks.filter(one => one.wait <= wait));
      }
      ready.forEach(({ user, kind }, k) => {
        const at = to + 32 * k;
        for (let i = 0; i < 32; i += 8) view().setBigUint64(at + i, 0n, true);
        view().setBigUint64(at, user, true);
        view().setUint8(at + 10, kind);
      });
      view().setUint32(counted, ready.length, true);
      return 0;
    },
  };
}

// ---- Python
function written(text) {
  const content = new TextEncoder().encode(text), at = instance.exports.host_alloc(content.length) >>> 0;
  new Uint8Array(instance.exports.memory.buffer).set(content, at);
  return [at, content.length];
}

const turn = code => instance.exports.turn(...written(code));

function call(at, size, outAt, outSize) {  // the only door of Python to the outside: a line of JSON for the page
  const said = JSON.parse(new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, at >>> 0, size >>> 0)));
  const { kind, ...rest } = said;
  post(kind, kind === 'done' ? { ...rest, heap: instance.exports.memory.buffer.byteLength } : rest);
  const [answer, length] = written('.'), view = new DataView(instance.exports.memory.buffer);
  view.setUint32(outAt >>> 0, answer, true);
  view.setUint32(outSize >>> 0, length, true);
  return 0;
}

function quiet() {  // nothing of this is imported by the module anyway; here it is gone for good
  const ways = ['fetch', 'XMLHttpRequest', 'WebSocket', 'WebSocketStream', 'WebTransport', 'EventSource', 'importScripts', 'Worker',
    'SharedWorker', 'BroadcastChannel', 'indexedDB', 'caches', 'Notification', 'RTCPeerConnection', 'FileReader', 'FileReaderSync'];
  for (const name of ways) Object.defineProperty(self, name, { value: undefined, configurable: false, writable: false });
}

// The image is the memory of Python when build.py took it: between two turns all of Python is in its memory. It holds
// the length of a head, the head, and the pages of memory that differ from those that the module starts with.
async function remember(image) {
  const { memory } = instance.exports, reader = unpacked(image).getReader();
  let rest = new Uint8Array();
  const fill = async bytes => {  // without a copy of the whole
    for (let at = 0; at < bytes.length;) {
      if (!rest.length) rest = (await reader.read()).value;
      const some = rest.subarray(0, bytes.length - at);
      bytes.set(some, at);
      at += some.length;
      rest = rest.subarray(some.length);
    }
    return bytes;
  };
  const [size] = new Uint32Array((await fill(new Uint8Array(4))).buffer);
  const { length, runs, open } = JSON.parse(new TextDecoder().decode(await fill(new Uint8Array(size))));
  memory.grow(Math.max(0, Math.ceil((length - memory.buffer.byteLength) / 65536)));
  for (const [at, size] of runs) await fill(new Uint8Array(memory.buffer, at, size));
  return open;
}

const PAGE = 4096;

async function taken() {
  if (turn(`guest.scrub(${instance.exports.memory.buffer.byteLength})`)) throw new Error('free memory could not be emptied');
  const now = new Uint8Array(instance.exports.memory.buffer), runs = [];
  const first = new Uint8Array((await WebAssembly.instantiate(source.module, source.imports)).exports.memory.buffer);
  for (let at = 0; at < now.length; at += PAGE) {
    const page = now.subarray(at, at + PAGE), before = at < first.length ? first.subarray(at, at + PAGE) : null;
    if (page.every((one, k) => one === (before ? before[k] : 0))) continue;
    const last = runs.at(-1);
    if (last && last[0] + last[1] === at) last[1] += PAGE;
    else runs.push([at, PAGE]);
  }
  const head = new TextEncoder().encode(JSON.stringify({ length: now.length, runs, open: source.opened() }));
  return new Blob([new Uint32Array([head.length]), head, ...runs.map(([at, size]) => now.slice(at, at + size))]);
}

// Fonts that the image holds are open files of matplotlib's data: the same numbers stand for the same files again.
const DATA = '/usr/local/lib/python315.zip/matplotlib/mpl-data';

function open(fds, data, held) {
  for (const { fd, path, position } of held) {
    const entry = path.split('/').reduce((at, one) => at.contents.get(one), data);
    fds[fd] = Object.assign(new OpenFile(entry), { file_pos: BigInt(position) });
  }
}

function opened(fds, data) {
  const paths = new Map(), walk = (at, path) => { for (const [name, one] of at.contents) one.contents ? walk(one, `${path}${name}/`) : paths.set(one, path + name); };
  walk(data, '');
  const held = fds.flatMap((one, fd) => fd > 4 && one ? [{ fd, path: paths.get(one.file), position: Number(one.file_pos) }] : []);
  for (const { fd, path } of held) if (!path) throw new Error(`file ${fd} is open, and no font`);
  return held;
}

async function start({ folder, parts, module, kept, ...told }) {
  const began = performance.now(), taken = {}, mark = name => { taken[name] = (performance.now() - began) / 1000; };
  sizes = told.sizes;
  hashes = sizes.hashes ?? {};
  const zips = ['project.zip.gz', 'files.zip.gz', ...parts], large = hashes[IMAGE] ? [IMAGE] : Object.keys(LIBRARIES);
  const image = hashes[IMAGE] && sent(IMAGE).then(async one =>  // what is kept waits on the disk until it is read
    kept ? one : { ...one, body: (await new Response(one.body).blob()).stream() });
  total = [...zips, ...large, ...(module ? [] : ['python.wasm.gz'])].reduce((sum, name) => sum + (sizes[name] ?? 0), 0);
  const compiled = module ?? WebAssembly.compileStreaming(wasm(kept));
  const libraries = await Promise.all(Object.entries(LIBRARIES).map(async ([name, path]) =>
    [path, image ? new Later(sizes[name], brought(name)) : file(new Uint8Array(await bytes(name)), { readonly: true })]));
  const [project, files, ...more] = await Promise.all(zips.map(bytes));
  module = await compiled;
  const root = new Directory(new Map()), data = new Directory(new Map());
  for (const path of ['/tmp/home/.keep', '/book/.keep']) put(root, path, file(new Uint8Array()));
  for (const [path, library] of libraries) put(root, path, library);
  put(root, '/lib/project.zip', file(new Uint8Array(project), { readonly: true }));
  parts.forEach((name, k) => put(root, `/lib/${name.slice(0, -3)}`, file(new Uint8Array(more[k]), { readonly: true })));
  for (const [path, content] of unzip(files)) {
    const own = path.startsWith('mpl-data/');
    put(own ? data : root, own ? path.slice(9) : path, file(content, { readonly: own }));
  }
  const fds = [new OpenFile(new File([])), new Printed('stdout'), new Printed('stderr'),
    new PreopenDirectory('/', root.contents), new PreopenDirectory(DATA, data.contents)];
  const wasi = new WASI(['/usr/local/bin/python.wasm'], ['TMPDIR=/tmp', 'HOME=/tmp/home', 'PYTHONTZPATH='], fds, { debug: false });
  source = { module, imports: { wasi_snapshot_preview1: mended(wasi), host: { call } }, opened: () => opened(wasi.fds, data) };
  instance = await WebAssembly.instantiate(module, source.imports);
  mark('module');
  wasi.inst = instance;
  if (image) open(wasi.fds, data, await remember(await image));
  mark('memory');
  quiet();
  const at = JSON.stringify(`/book/nbs/${folder}`), more_paths = JSON.stringify(['/lib/sklearn.zip', '/lib/project.zip', ...parts.map(name => `/lib/${name.slice(0, -3)}`)]);
  const failed = turn(`import os, sys
${image ? '' : `for one in list(sys.path_importer_cache.values()):
    if hasattr(one, 'invalidate_caches'): one.invalidate_caches()`}
sys.path += [one for one in ${more_paths} if one not in sys.path]
os.environ.update(MPLBACKEND='module://guest_figures', MPLCONFIGDIR='/tmp/home', EXTREME_OPT_CACHE='/tmp/home/cache')
os.makedirs(${at}, exist_ok=True)
os.chdir(${at})
${image ? `for one in ('random', 'numpy.random'):  # the image holds one state for everybody
    if one in sys.modules: sys.modules[one].seed()` : 'import guest\nguest.start()'}`);
  if (failed) throw new Error('Python did not start');
  mark('python');
  post('ready', { module, taken, heap: instance.exports.memory.buffer.byteLength });
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === 'start') await start(data);
    else if (data.kind === 'image') post('image', { image: await taken() });
    else if (turn(`guest.handle(${JSON.stringify(data.request)})`)) throw new Error('the kernel failed');
  } catch (error) {
    post('broken', { text: error instanceof WASIProcExit ? 'The cell ended Python.' : `Python broke down: ${error.message ?? error}` });
  }
};
