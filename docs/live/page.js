// The page side of lessons that run: a button, editable cells, outputs in place of the stored ones. Nothing else is
// loaded before the button is pressed: the cells, the engine and Python come then.
const bar = document.querySelector('.live-bar');
const base = new URL('.', import.meta.url);
const make = (tag, said = {}, ...children) => {
  const one = Object.assign(document.createElement(tag), said);
  one.append(...children);
  return one;
};
const MB = bytes => (bytes / 1e6).toFixed(1);

// ---- outputs
const KEPT = new Set(('a abbr b br caption code col colgroup dd details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img kbd li mark ol p ' +
  'pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var').split(' '));

// HTML of a cell without anything that acts or asks a server: what is not known to be harmless goes.
export function harmless(html) {
  const doc = new DOMParser().parseFromString(html, 'text/html');
  for (const one of [...doc.body.querySelectorAll('*')]) {
    if (!KEPT.has(one.localName)) { one.remove(); continue; }
    for (const { name, value } of [...one.attributes]) {
      const plain = /^(class|id|title|alt|scope|colspan|rowspan|role|open|aria-[\w-]+)$/.test(name);
      const style = name === 'style' && !/url|image|@|\\|expression|position/i.test(value);
      const image = name === 'src' && one.localName === 'img' && /^data:image\/(png|jpeg|gif);/.test(value);
      const link = name === 'href' && one.localName === 'a' && /^#/.test(value);
      if (!(plain || style || image || link)) one.removeAttribute(name);
    }
  }
  return doc.body.innerHTML;
}

class Output {
  constructor(cell, alt, open = false) {
    this.cell = cell; this.alt = alt || 'Figure drawn by this cell'; this.open = open;
    this.box = make('div', { className: 'cell_output docutils container live-output' });
    this.text = null;
    const old = cell.querySelector(':scope > .cell_output:not(.live-output)');
    this.caption = old?.querySelector('.caption')?.cloneNode(true) ?? cell.caption;  // numbers of figures stay
    cell.caption = this.caption;
    for (const old of cell.querySelectorAll(':scope > .cell_output')) old.remove();
    cell.append(this.box);
  }
  print(words, kind) {
    if (!this.text) { this.text = make('pre'); this.box.append(this.text); }
    this.text.append(kind ? make('span', { className: kind }, words) : words);
  }
  show(said) {
    if (said.kind === 'stream') return this.print(said.text, said.name === 'stderr' && 'live-stderr');
    this.text = null;
    if (said.kind === 'error' && this.open) this.unanswered(said.text);
    else if (said.kind === 'error') this.box.append(make('pre', { className: 'live-error', role: 'alert' }, said.text));
    else if (said.kind === 'clear') this.box.replaceChildren();
    else if (said.kind === 'moved') this.slider?.(said);
    else if (said.kind === 'data') this.data(said.data);
  }
  unanswered(text) {  // a question of a problem set, as it was given: no fault of the reader's
    const last = text.trim().split('\n').pop();
    this.box.append(make('details', { className: 'live-open' }, make('summary', {}, `No answer yet. ${last}`), make('pre', {}, text)));
  }
  data(data) {
    const image = src => this.box.append(make('img', { src, alt: this.alt }));
    if (data['application/x-sliders']) this.box.append(sliders(data['application/x-sliders']));
    else if (data['image/svg+xml']) image(URL.createObjectURL(new Blob([data['image/svg+xml']], { type: 'image/svg+xml' })));
    else if (data['image/png']) image('data:image/png;base64,' + data['image/png']);
    else if (data['text/html']) this.box.append(make('div', { className: 'output text_html', innerHTML: harmless(data['text/html']) }));
    else this.box.append(make('pre', {}, data['text/markdown'] ?? data['text/plain']));
    if (this.caption && this.box.querySelector(':scope > img, .xo-frames')) this.box.append(this.caption);
  }
}

// ---- sliders: a move asks Python for one figure; while it draws, only the last place asked for is kept
function sliders({ number, said, knobs, image }) {
  const box = make('div', { className: 'xo-frames', role: 'group' });
  box.setAttribute('aria-label', said);
  const shown = make('img', { src: 'data:image/png;base64,' + image }), places = knobs.map(one => one.start);
  let busy = false, again = false;
  const name = () => { shown.alt = `${said} ${knobs.map((one, k) => `${one.name} ${one.labels[places[k]]}`).join(', ')}`; };
  const draw = async () => {
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      const asked = [...places];
      await engine.run({ move: number, places: asked }, one => {
        if (one.kind === 'moved') { shown.src = 'data:image/png;base64,' + one.image; name(); box.querySelector('.live-error')?.remove(); }
        if (one.kind === 'error') { box.querySelector('.live-error')?.remove(); box.append(make('pre', { className: 'live-error' }, one.text)); }
      });
    } while (again);
    busy = false;
    box.dataset.moves = Number(box.dataset.moves ?? 0) + 1;
  };
  knobs.forEach((knob, k) => {
    const value = make('output', {}, knob.labels[knob.start]);
    const input = make('input', { type: 'range', min: 0, max: knob.labels.length - 1, value: knob.start, autocomplete: 'off' });
    input.oninput = () => {
      places[k] = Number(input.value);
      value.textContent = knob.labels[places[k]];
      input.setAttribute('aria-valuetext', value.textContent);
      draw();
    };
    input.setAttribute('aria-valuetext', knob.labels[knob.start]);
    box.append(make('label', {}, make('span', {}, knob.name), input, value));
  });
  name();
  box.append(shown);
  return box;
}

// ---- the page
let page, engine, ran = new Set(), running = false, asked = 0;
const timings = [];
const live = window.live = { timings, goOn: false };  // for tests and the table of seconds; goOn: past errors
const cells = new Map();  // id of a visible cell: what stands for it on the page

const status = make('span', { className: 'live-status', role: 'status' });
const start = make('button', { className: 'live-button', type: 'button' }, 'Run this page');
const stop = make('button', { className: 'live-button', type: 'button', hidden: true, title: 'End what runs now; variables are lost' }, 'Stop');
const reset = make('button', { className: 'live-button', type: 'button', hidden: true, title: 'Bring the stored page back' }, 'Reset');
bar.append(start, stop, reset, status);

function say(words, state) { status.textContent = words; bar.dataset.state = state; }

async function open() {
  if (page) return;
  const settings = JSON.parse(bar.dataset.live);
  page = await (await fetch(new URL(settings.cells, location.href))).json();
  const { Engine } = await import(new URL(settings.engine, base));
  const began = performance.now();
  engine = new Engine({
    base, folder: page.folder, parts: page.parts,
    onProgress: ({ loaded, total }) => say(`Loading Python: ${MB(loaded)} of ${MB(total)} MB, ${((performance.now() - began) / 1000).toFixed(0)} s`, 'loading'),
  });
  for (const one of page.cells) if (!one.hidden) equip(one);
  tryHere();
  await keep(new URL(settings.offline, location.href));
}

// From here on what is loaded is kept for reading without a network; a browser that cannot do it goes on without.
async function keep(address) {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  const taken = new Promise(resolve => workers.addEventListener('controllerchange', resolve, { once: true }));
  try {
    const registration = await workers.register(address);
    if (!workers.controller) await Promise.race([taken, new Promise(resolve => setTimeout(resolve, 5000))]);
    const loaded = performance.getEntriesByType('resource').map(one => one.name);
    const moved = [...document.querySelectorAll('.xo-frames img')].map(one => one.src).filter(src => src.startsWith('http'));
    (registration.active ?? workers.controller)?.postMessage([location.href, ...loaded, ...moved]);
  } catch { /* private windows refuse it */ }
}

function equip(one) {  // an editable cell with its own button; a cell that cannot run says so already
  const cell = document.getElementById(`cell-${one.id}`), code = cell?.querySelector('.cell_input pre');
  if (!code) throw new Error(`the page has no cell ${one.id}`);
  cells.set(one.id, { cell, code, stored: [...cell.childNodes].map(node => node.cloneNode(true)) });
  if (one.cannot) return;
  code.contentEditable = 'plaintext-only';
  if (code.contentEditable !== 'plaintext-only') code.contentEditable = 'true';
  Object.assign(code, { spellcheck: false, autocapitalize: 'off' });
  code.setAttribute('role', 'textbox');
  code.setAttribute('aria-multiline', 'true');
  code.setAttribute('aria-label', 'Code of this cell; Shift and Enter runs it');
  code.dataset.cell = one.id;
  for (const more of code.querySelectorAll('.doc-more')) { more.nextElementSibling.classList.add('open'); more.remove(); }
  code.addEventListener('input', () => ran.delete(one.id));  // runs again when a cell below asks for it
  const button = make('button', { className: 'live-run', type: 'button', title: 'Run this cell (Shift-Enter); cells above it that have not run come first' }, 'Run');
  button.onclick = () => runTo(one.id);
  cell.querySelector('.cell_input').append(make('div', { className: 'live-row' }, button));
}

// Keys that are pressed in a cell belong to it: shortcuts of the page, such as "/" and Ctrl-K for the search, never see them.
let escaped = false;
for (const kind of ['keydown', 'keypress', 'keyup']) window.addEventListener(kind, event => {
  const code = event.target.closest?.('pre[contenteditable]');
  if (!code) return;
  event.stopImmediatePropagation();
  if (kind !== 'keydown') return;
  if (event.key === 'Enter' && (event.shiftKey || event.ctrlKey)) { event.preventDefault(); runTo(code.dataset.cell); }
  if (event.key === 'Tab' && !event.shiftKey && !escaped) { event.preventDefault(); document.execCommand('insertText', false, '    '); }
  escaped = event.key === 'Escape';  // Escape, then Tab, leaves the cell
}, true);

// Cells of the reader's own: one under each exercise that has tests, which can be seen, and an empty one at the end of the
// exercises, whose Check runs the page's own check cells on what the reader has defined by then.
function tryHere() {
  const section = document.getElementById('exercises'), checks = page.cells.filter(one => one.checks && !one.cannot);
  if (!section) return;
  for (const { number, start, test } of page.exercises ?? []) {
    const place = section.querySelector(`:scope > ol > li:nth-child(${number})`);
    if (!place) throw new Error(`the page has no exercise ${number}`);
    const seen = make('details', { className: 'live-test' }, make('summary', {}, 'Tests'), make('pre', {}, test));
    const tests = [{ source: test, name: `the test of exercise ${number}` }];
    ownCell(place, `exercise-${number}`, start, `Your answer to exercise ${number}`, () => tests, 'The tests pass.').append(seen);
  }
  if (!checks.length) return;
  const passed = `All ${checks.length} check cells of this page pass with what you defined.`;
  ownCell(section, 'exercises', '', 'Empty cell for the exercises', () => checks.map(one => ({ source: source(one), name: one.checks.join(', ') })), passed);
}

function ownCell(place, id, start, label, tests, passed) {
  const code = make('pre', {}, start), input = make('div', { className: 'cell_input docutils container' }, make('div', { className: 'highlight' }, code));
  const cell = make('div', { className: 'cell docutils container live-try', id: `cell-${id}` }, input);
  const said = make('p', { className: 'live-checks', role: 'status' });
  const one = { id, source: start, own: true };
  place.append(cell);
  page.cells.push(one);
  equip(one);
  cells.get(id).added = cell;
  code.setAttribute('aria-label', label);
  const check = make('button', { className: 'live-run live-check', type: 'button', title: 'Run this cell, then the tests on what it defines' }, 'Check');
  check.onclick = async () => {
    said.remove();
    await runTo(id);
    if (bar.dataset.state !== 'done') return;
    const wrong = [];
    for (const { source, name } of tests()) {
      let error = '';
      const done = await engine.run({ source, name: `<${name}>` }, out => {
        if (out.kind === 'error') error = out.text.trim().split('\n').pop();
      });
      if (!done.ok) wrong.push(`${name} fails: ${error}`);
    }
    said.textContent = wrong.length ? wrong.join('\n') : passed;
    said.dataset.state = wrong.length ? 'failed' : 'passed';
    input.after(said);
  };
  input.querySelector('.live-row').append(check);
  return cell;
}

// The text of an edited cell: browsers put <br> or <div> where a line ends.
function textOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.localName === 'br') return '\n';
  const inside = [...node.childNodes].map(textOf).join('');
  return node.localName === 'div' ? `\n${inside}` : inside;
}

const source = one => { const here = cells.get(one.id); return here ? textOf(here.code) : one.source; };

// Whether a cell of a problem set waits for an answer: it, or the nearest cell above it with a gap, still has the gap.
const GAP = 'YOUR CODE HERE';
function isOpen(one) {
  if (!page.goOn || one.own) return false;
  const asked = page.cells.slice(0, page.cells.indexOf(one) + 1).findLast(other => other.source.includes(GAP));
  return Boolean(asked && source(asked).includes(GAP));
}

// Run the cells in order up to one of them, or all; a cell that ran is not run again unless it is the one asked for.
async function runTo(last, all = false) {
  if (running) return;
  running = true;
  const mine = ++asked, began = performance.now();
  say('Starting', 'loading');
  start.disabled = true; stop.hidden = reset.hidden = false;
  let failed = null, wrong = 0, unanswered = 0;
  bar.dataset.first = '';
  try {
    await open();
    await engine.start();
    live.taken = engine.taken;
    const until = last ? page.cells.findIndex(one => one.id === last) : page.cells.length - 1;
    const todo = page.cells.slice(0, until + 1).filter(one => !one.cannot && (one.id === last || (!one.own && (all || !ran.has(one.id)))));
    for (const [k, one] of todo.entries()) {
      say(`Running cell ${k + 1} of ${todo.length}, ${((performance.now() - began) / 1000).toFixed(0)} s`, 'running');
      const here = cells.get(one.id), given = isOpen(one);
      const output = here && new Output(here.cell, one.alt, given);
      here?.cell.classList.add('live-now');
      let error = '';
      const done = await engine.run({ source: source(one), name: `<cell ${page.cells.indexOf(one) + 1}>` }, said => {
        if (said.kind === 'error') error = said.text.trim().split('\n').pop();
        if (output) output.show(said);
        else if (said.kind === 'error') failed = `a cell that the page does not show: ${error}`;
        if (output && said.kind !== 'moved') bar.dataset.first ||= performance.now() - began;
      });
      here?.cell.classList.remove('live-now');
      if (mine !== asked) return;
      if (here) here.cell.dataset.live = done.ok ? 'ran' : given ? 'open' : 'failed';
      timings.push({ id: one.id, ok: done.ok, seconds: done.seconds, heap: done.heap, error });
      if (!done.ok && page.goOn && !done.stopped) given ? unanswered++ : wrong++;
      else if (!done.ok) { failed ??= done.stopped ? 'stopped' : `cell ${k + 1} of ${todo.length}`; }
      if (done.stopped || (!done.ok && !live.goOn && !page.goOn)) break;
      ran.add(one.id);
    }
    bar.dataset.total = performance.now() - began;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (failed === 'stopped') say('Stopped. Variables are gone; the next run starts from the top.', 'stopped');
    else if (failed) say(`An error in ${failed}`, 'failed');
    else if (wrong || unanswered) say(`${todo.length} cells ran. ` + (unanswered ? `Questions and tests without an answer: ${unanswered}. ` : '') + (wrong ? `Errors: ${wrong}. ` : '') + 'Change a cell and press Run.', 'done');
    else say(`${todo.length} cell${todo.length === 1 ? '' : 's'} ran in ${seconds} s. Change a cell and press Run.`, 'done');
  } catch (error) {
    if (mine === asked) say(`Python could not start: ${error.message}`, 'failed');
  } finally {
    if (mine === asked) { running = false; start.disabled = false; start.textContent = 'Run all cells'; }
  }
}

start.onclick = () => { if (ran.size) { ran.clear(); engine.stop(); } runTo(null, true); };
stop.onclick = () => { ran.clear(); engine?.interrupt(); };
reset.onclick = () => {
  asked++; running = false; ran.clear(); engine?.stop();
  for (const { cell, stored, added } of cells.values()) { if (added) added.remove(); else cell.replaceChildren(...stored); delete cell.dataset.live; cell.classList.remove('live-now'); }
  cells.clear(); page = engine = null;
  start.disabled = false; start.textContent = 'Run this page'; stop.hidden = reset.hidden = true;
  say('', 'off');
};
