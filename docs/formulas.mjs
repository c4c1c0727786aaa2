// Feed every formula of the site to KaTeX (which draws it on the page) and to MathJax 3 (which draws it in JupyterLab).
// usage: node formulas.mjs formulas.json KATEX_FOLDER MATHJAX_FOLDER      exit 1 and one line per formula that fails
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [file, katexFolder, mathjaxFolder] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const katex = require(`${katexFolder}/dist/katex.min.js`);
const mathjax = await require(`${mathjaxFolder}/es5/node-main.js`).init({ loader: { load: ['input/tex'] } });

let failed = 0;
const fail = (formula, who, why) => {
  failed += 1;
  console.log(`${formula.page}: ${who} cannot read  ${formula.tex.replace(/\s+/g, ' ').slice(0, 100)}  (${why})`);
};
for (const formula of JSON.parse(readFileSync(file, 'utf8'))) {
  try { katex.renderToString(formula.tex, { displayMode: formula.display, throwOnError: true, strict: 'ignore' }); }
  catch (error) { fail(formula, 'KaTeX', error.message.split('\n')[0]); }
  try {
    mathjax.startup.document.clear();
    const mml = await mathjax.tex2mmlPromise(formula.tex, { display: formula.display });
    const broken = mml.match(/data-mjx-error="([^"]*)"/);
    if (broken) fail(formula, 'MathJax', broken[1]);
  } catch (error) { fail(formula, 'MathJax', error.message); }
}
process.exit(failed ? 1 : 0);
