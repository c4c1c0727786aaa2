// Feed every formula of the site to MathJax 3, which draws it on the page and in JupyterLab.
// usage: node formulas.mjs formulas.json MATHJAX_FOLDER [DRAWN.json]
// formulas.json: [{page, display, tex}, ...]; exit 1 and one line per formula that fails. DRAWN.json gets the drawings:
// {css, drawn: [{html, why}, ...], glyphs}; drawings use the paths in `glyphs`.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';

const [file, folder, drawn] = process.argv.slice(2);
const load = ['input/tex', ...(drawn ? ['adaptors/liteDOM', 'output/svg', 'a11y/assistive-mml'] : [])];
const mathjax = await createRequire(import.meta.url)(`${folder}/es5/node-main.js`).init({
  loader: { load }, svg: { fontCache: 'global' }, options: { enableAssistiveMml: true },
});
const { document } = mathjax.startup, adaptor = drawn && mathjax.startup.adaptor;

let failed = 0;
const made = [];
for (const formula of JSON.parse(readFileSync(file, 'utf8'))) {
  let why = '', html = '';
  try {
    document.clear();
    const read = drawn ? 'tex2svgPromise' : 'tex2mmlPromise';
    const found = await mathjax[read](formula.tex, { display: formula.display });
    html = drawn ? adaptor.outerHTML(found) : found;
    why = html.match(/data-mjx-error="([^"]*)"/)?.[1] ?? '';
  } catch (error) { why = error.message; }
  why &&= `MathJax cannot read  ${formula.tex.replace(/\s+/g, ' ').slice(0, 100)}  (${why})`;
  made.push({ html: why ? '' : html, why });
  if (why) console.log(`${formula.page}: ${why}`);
  failed += why !== '';
}
if (drawn) {
  const glyphs = adaptor.outerHTML(document.outputJax.fontCache.getCache());
  writeFileSync(drawn, JSON.stringify({ css: adaptor.textContent(mathjax.svgStylesheet()), drawn: made, glyphs }));
}
process.exit(failed ? 1 : 0);
