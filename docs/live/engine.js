// The engine behind a page: start, run(cell) -> outputs, interrupt, stop.
//   new Engine({base, folder, parts, onProgress})   base: address of these files, folder: where the page stands
//   await start()                      until the first cell can run; onProgress({loaded, total}) in bytes
//   await run(cell, onOutput)          cell: {id, source} or {move, places}; resolves to {ok, seconds, heap}
//   interrupt()                        ends what runs at once; variables are gone, the next run starts anew
//   stop()                             ends the engine
export class Engine {
  script = 'worker.js';  // what runs in the worker

  constructor({ base, folder, parts = [], onProgress = () => {} }) {
    Object.assign(this, { base, folder, parts, onProgress, worker: null, started: null, pending: null });
  }

  start() {
    return this.started ??= this.open();
  }

  async open() {
    this.sizes ??= await (await fetch(new URL('sizes.json', this.base))).json();
    const worker = this.worker = new Worker(new URL(this.script, this.base), { type: 'module' });
    return new Promise((resolve, reject) => {
      this.fail = reject;
      worker.onerror = event => this.broke(event.message || 'the worker could not be loaded');
      worker.onmessage = ({ data }) => {
        if (data.kind === 'progress') this.onProgress(data);
        else if (data.kind === 'ready') { this.module = data.module; this.heap = data.heap; this.taken = data.taken; resolve(); }
        else if (data.kind === 'broken') this.broke(data.text);
        else if (data.kind === 'done') { this.heap = data.heap; this.settle({ ok: data.ok, seconds: data.seconds, heap: data.heap }); }
        else this.pending?.onOutput(data);
      };
      worker.postMessage({ kind: 'start', folder: this.folder, parts: this.parts, sizes: this.sizes, module: this.module, kept: Boolean(navigator.serviceWorker?.controller) });
    });
  }

  async run(cell, onOutput = () => {}) {
    while (this.pending) await this.pending.end;  // one at a time
    await this.start();
    const one = this.pending = { onOutput };
    one.end = new Promise(resolve => { one.resolve = resolve; });
    this.worker.postMessage({ kind: 'run', request: JSON.stringify(cell) });
    return one.end;
  }

  settle(result) {
    const one = this.pending;
    this.pending = null;
    one?.resolve(result);
  }

  broke(text) {
    const one = this.pending;
    this.stop();
    this.fail?.(new Error(text));
    one?.onOutput({ kind: 'error', name: 'Stopped', text });
    one?.resolve({ ok: false, stopped: true, seconds: 0, heap: 0 });
  }

  // A loop in WebAssembly hears nothing, so the worker is ended.
  interrupt() {
    this.broke('Stopped. All variables are gone; the next run starts from the top.');
  }

  stop() {
    this.worker?.terminate();
    this.worker = this.started = this.pending = null;
  }
}
