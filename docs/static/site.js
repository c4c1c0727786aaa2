// A link to a place on the same page closes the drawer that it was pressed in, so that the place is seen.
document.addEventListener('click', event => {
  const link = event.target.closest('dialog a[href]');
  if (link?.hash && link.pathname === location.pathname) setTimeout(() => {
    link.closest('dialog')?.close();
    document.getElementById(decodeURIComponent(link.hash.slice(1)))?.scrollIntoView();
  });
});
