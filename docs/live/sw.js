// Keeps what the reader has seen and what the engine loads, so that pages read before run without a network.
const KEEP = 'pages-VERSION';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', event => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith('pages-') && name !== KEEP) await caches.delete(name);
  await self.clients.claim();
})()));

// The network first, because pages change; the engine's files have a version, so their copy will do.
self.addEventListener('fetch', event => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    const kept = await caches.open(KEEP), fixed = /\.gz$/.test(new URL(request.url).pathname);
    const copy = await kept.match(request, { ignoreSearch: !fixed });
    if (fixed && copy) return copy;
    try {
      const answer = await fetch(request);
      if (answer.ok) await kept.put(request, answer.clone());
      return answer;
    } catch (error) {
      if (copy) return copy;
      throw error;
    }
  })());
});

// What a page had loaded before this worker was there.
self.addEventListener('message', event => event.waitUntil((async () => {
  const kept = await caches.open(KEEP);
  for (const address of event.data) {
    const own = new URL(address).origin === location.origin;
    if (own && !await kept.match(address)) await kept.add(address).catch(() => {});
  }
})()));
