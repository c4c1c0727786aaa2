// Ranks what Sphinx has indexed. Sphinx asks that a page has every word and knows no rare words from common ones; here a
// word counts more in a title than in a heading than in the text, more when it is rare, and guides come before lessons
// before the engine. What readers ask in other words than the pages, or what is not there, stands in answers.js.
const SHELVES = [[/index$|^learn\/(hints|explorations)/, 0.5], [/^use\//, 1.5], [/^learn\/(?!problem)/, 1.2], [/^evidence\/ledger/, 0.5], [/^engine\//, 0.6], [/^reference\//, 0.7]];
const MOST = 20;
const SAME = [
  'memory ram', 'save store persist pickle', 'load read', 'weight weights', 'dimension dimensions components', 'class classes label labels categories',
  'fast faster speed slow', 'error errors exception', 'recommend recommendation recommender recommendations', 'parallel workers threads processes',
  'rate step', 'embedding map', 'softmax multinomial', 'triplet triplets comparison', 'stop stopping', 'overflow nan', 'seed random_state reproducible',
];

const stemOf = (() => {
  const stemmer = new Stemmer();
  return word => stemmer.stemWord(word.toLowerCase());
})();
const stemsOf = text => splitQuery(text.toLowerCase()).filter(word => !stopwords.has(word)).map(stemOf);
const plain = title => title.replace(/\\[()]/g, '').replace(/\\([a-zA-Z]+)/g, '$1').replace(/[{}$]/g, '');

function wordsOf(query) {
  const alike = SAME.map(line => stemsOf(line));
  return [...new Set(stemsOf(query))].map(word => [word, ...new Set(alike.filter(group => group.includes(word)).flat().filter(one => one !== word))]);
}

function filesOf(index, word) {
  const files = index.hasOwnProperty(word) ? index[word] : [];
  return files.length === undefined ? [files] : files;
}

// Words of the headings: stem -> [[file, place, heading], ...]
function headings() {
  const found = new Map();
  for (const [title, places] of Object.entries(Search._index.alltitles)) for (const stem of new Set(stemsOf(title))) {
    if (!found.has(stem)) found.set(stem, []);
    for (const [file, place] of places) found.get(stem).push([file, place, title]);
  }
  return found;
}

function rank(query) {
  const { terms, titleterms, docnames, titles, filenames } = Search._index, heads = headings(), words = wordsOf(query);
  const scores = new Map(), places = new Map();
  let most = 0;
  for (const [word, ...others] of words) {
    const seen = new Map();  // file: how much this word is worth there
    const see = (file, worth) => seen.set(file, Math.max(seen.get(file) ?? 0, worth));
    for (const [one, share] of [[word, 1], ...others.map(other => [other, 0.6])]) {
      for (const file of filesOf(terms, one)) see(file, share);
      for (const [file, place, title] of heads.get(one) ?? []) {
        see(file, 2.2 * share);
        const key = `${file} ${place}`;
        const here = places.get(key) ?? { file, place, title, words: new Map() };
        here.words.set(word, Math.max(here.words.get(word) ?? 0, share));
        places.set(key, here);
      }
      for (const file of filesOf(titleterms, one)) if (stemsOf(titles[file]).includes(one)) see(file, 3 * share);
    }
    if (!seen.size && word.length > 3) {
      for (const term of Object.keys(terms)) if (term.startsWith(word)) for (const file of filesOf(terms, term)) see(file, 0.5);
    }
    const rare = Math.log(1 + docnames.length / (1 + seen.size));
    most += rare;
    for (const [file, worth] of seen) {
      const here = scores.get(file) ?? { sum: 0, has: 0 };
      here.sum += worth * rare;
      here.has += rare;
      scores.set(file, here);
    }
  }
  const best = new Map();  // file: its heading that has most of the words
  for (const here of places.values()) {
    const sum = [...here.words.values()].reduce((a, b) => a + b, 0);
    const worth = sum / words.length + sum / Math.max(stemsOf(here.title).length, words.length);
    if (worth > (best.get(here.file)?.worth ?? 0.5)) best.set(here.file, { ...here, worth });
  }
  const found = [];
  for (const [file, { sum, has }] of scores) {
    if (has < 0.6 * most) continue;
    const shelf = SHELVES.find(([pattern]) => pattern.test(docnames[file]))?.[1] ?? 1, head = best.get(file);
    const score = sum / most * shelf * (1 + (head?.worth ?? 0));
    const title = head && head.place !== null && head.title !== titles[file] ? `${titles[file]} › ${head.title}` : titles[file];
    found.push([docnames[file], plain(title), head?.place ? `#${head.place}` : '', null, score, filenames[file], 'title']);
  }
  return found;
}

// A query that is the name of something public leads to its entry.
function named(query) {
  const asked = query.trim().toLowerCase(), found = [];
  for (const [prefix, list] of Object.entries(Search._index.objects)) for (const [file, type, , anchor, name] of list) {
    const full = `${prefix ? prefix + '.' : ''}${name}`, lower = full.toLowerCase();
    if (lower !== asked && lower.split('.').pop() !== asked && !(asked.includes('.') && lower.endsWith('.' + asked))) continue;
    const [, kind, said] = Search._index.objnames[type];
    const place = anchor === '' ? full : anchor === '-' ? `${kind}-${full}` : anchor;
    found.push([Search._index.docnames[file], full, `#${place}`, `${said}, in ${plain(Search._index.titles[file])}`, 6 - full.split('.').length / 10, Search._index.filenames[file], 'object']);
  }
  return found.sort((a, b) => b[4] - a[4]).slice(0, 8);
}

function answered(query) {
  const asked = new Set(stemsOf(query)), found = [];
  for (const { when, page, at, title, text } of ANSWERS) {
    if (!when.some(words => stemsOf(words).length && stemsOf(words).every(word => asked.has(word)))) continue;
    const file = Search._index.docnames.indexOf(page);
    if (file >= 0) found.push([page, title, at ? `#${at}` : '', text, 20 - found.length, Search._index.filenames[file], 'answer']);
  }
  return found;
}

Search._performSearch = query => {
  const first = answered(query), seen = new Set(first.map(one => one[0] + one[2]));
  const rest = [...named(query), ...rank(query)].sort((a, b) => b[4] - a[4]).filter(one => !seen.has(one[0] + one[2]));
  return [...first, ...rest].slice(0, MOST).reverse();  // Sphinx takes them from the end
};
