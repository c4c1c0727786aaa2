// Pyodide behind the same interface, for readers who are online: `live_engine = pyodide.js`. `python docs/live/build.py pyodide`
// fetches its core, which runs plain Python; put NumPy, SciPy and matplotlib of the same release beside it, or name a
// public host here, and cells that import them get them. One file for both ends: a page imports it, a worker runs it.
// Unlike the project's own engine this one leaves code of a page a way to the network, because packages come through it.
import { Engine as Own } from './engine.js';

const HOME = new URL('pyodide/', import.meta.url);

export class Engine extends Own {
  script = 'pyodide.js';
}

const post = (kind, said = {}) => self.postMessage({ kind, ...said });
let python;

async function start({ folder, sizes }) {
  const { loadPyodide } = await import(new URL('pyodide.mjs', HOME));
  python = await loadPyodide({ indexURL: HOME.href });
  const packed = (await fetch(new URL(`project.zip.gz?${sizes.hashes?.['project.zip.gz'] ?? ''}`, import.meta.url))).body;
  const project = await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  python.unpackArchive(project, 'zip', { extractDir: '/lib/project' });
  python.registerJsModule('_host', {
    call(said) {
      const { kind, ...rest } = JSON.parse(new TextDecoder().decode(said.toJs()));
      post(kind, kind === 'done' ? { ...rest, heap: python._module.HEAP8.length } : rest);
    },
  });
  python.FS.mkdirTree(`/book/nbs/${folder}`);
  python.runPython(`import os, sys
sys.path.append('/lib/project')
os.environ['MPLBACKEND'] = 'module://guest_figures'
os.chdir('/book/nbs/${folder}')
import guest
guest.start()`);
  post('ready', { heap: python._module.HEAP8.length });
}

if (typeof document === 'undefined') self.onmessage = async ({ data }) => {
  try {
    if (data.kind === 'start') return await start(data);
    await python.loadPackagesFromImports(JSON.parse(data.request).source ?? '');
    python.pyimport('guest').handle(data.request);
  } catch (error) {
    post('broken', { text: `Python broke down: ${error.message ?? error}` });
  }
};
