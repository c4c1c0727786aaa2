// A link to a place on the same page closes the drawer that it was pressed in, so that the place is seen.
document.addEventListener('click', event => {
  const link = event.target.closest('dialog a[href]');
  if (link?.hash && link.pathname === location.pathname) setTimeout(() => {
    link.closest('dialog')?.close();
    document.getElementById(decodeURIComponent(link.hash.slice(1)))?.scrollIntoView();
  });
});

// The rest of a docstring, shown and hidden by a press or by the keyboard.
const unfold = event => {
  const more = event.target.closest?.('.doc-more');
  if (!more || event.type === 'keydown' && !['Enter', ' '].includes(event.key)) return;
  event.preventDefault();
  more.setAttribute('aria-expanded', String(more.nextElementSibling.classList.toggle('open')));
};
document.addEventListener('click', unfold);
document.addEventListener('keydown', unfold);

// A link to a place inside a fold opens the fold.
const reveal = () => {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = place?.closest('details:not([open])'); fold; fold = fold.parentElement.closest('details:not([open])')) fold.open = true;
  if (place) place.scrollIntoView();
};
addEventListener('hashchange', reveal);
if (document.readyState === 'complete') reveal(); else addEventListener('load', () => document.querySelector(':target')?.closest('details:not([open])') && reveal());

// Pictures under sliders come one by one; who turns to the sliders wants them all.
const bring = event => {
  for (const image of event.target.closest?.('.xo-frames')?.querySelectorAll('img[loading]') ?? []) image.loading = 'eager';
};
document.addEventListener('pointerover', bring);
document.addEventListener('focusin', bring);

// A formula or table that is wider than its column is moved by keys, so it is a stop of the tab key; the others are not.
const stops = () => {
  for (const one of document.querySelectorAll('div.math, mjx-container, div.output.text_html')) {
    if (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'auto') {
      one.tabIndex = 0;
      one.setAttribute('role', 'group');
      one.setAttribute('aria-label', `${one.matches('.text_html') ? 'Table' : 'Formula'}, wider than the page`);
    } else if (one.getAttribute('role') === 'group') for (const name of ['tabindex', 'role', 'aria-label']) one.removeAttribute(name);
  }
};
addEventListener('load', stops);
addEventListener('resize', stops);
