// Feed every formula of the site to MathJax 3, which draws it on the page and in JupyterLab.
// usage: node formulas.mjs formulas.json MATHJAX_FOLDER      exit 1 and one line per formula that fails
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [file, folder] = process.argv.slice(2);
const mathjax = await createRequire(import.meta.url)(`${folder}/es5/node-main.js`).init({ loader: { load: ['input/tex'] } });

let failed = 0;
for (const formula of JSON.parse(readFileSync(file, 'utf8'))) {
  let why = '';
  try {
    mathjax.startup.document.clear();
    const mml = await mathjax.tex2mmlPromise(formula.tex, { display: formula.display });
    why = mml.match(/data-mjx-error="([^"]*)"/)?.[1] ?? '';
  } catch (error) { why = error.message; }
  if (why) console.log(`${formula.page}: MathJax cannot read  ${formula.tex.replace(/\s+/g, ' ').slice(0, 100)}  (${why})`);
  failed += why !== '';
}
process.exit(failed ? 1 : 0);
