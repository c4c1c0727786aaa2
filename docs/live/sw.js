// Keeps what the reader has seen and what the engine loads, so that pages read before run without a network. A host may
// carry several books: each keeps to the addresses below its own, and to caches that are named by it.
const SCOPE = self.registration.scope, KEEP = `pages ${SCOPE} VERSION`;
const own = address => address.startsWith(SCOPE);
const fixed = address => /\.(gz|zip|wasm)$/.test(new URL(address).pathname);  // asked for with the hash of its content
const older = async () => (await caches.keys()).filter(name => name.startsWith(`pages ${SCOPE} `) && name !== KEEP);

// What was kept of an earlier version is brought anew, all or nothing: without a network the earlier version stays.
async function renew() {
  const kept = await caches.open(KEEP);
  for (const name of await older()) {
    const old = await caches.open(name);
    const asked = await fetch('_static/live/sizes.json', { cache: 'no-cache' });
    const { hashes } = asked.ok ? await asked.json() : { hashes: {} };
    for (const request of await old.keys()) {
      const { pathname, search } = new URL(request.url), name = pathname.split('/').pop();
      if (fixed(request.url)) {
        if (search === `?${hashes[name] ?? hashes[`${name}.gz`]}`) await kept.put(request, await old.match(request));
        continue;
      }
      const answer = await fetch(request.url, { cache: 'no-cache' });
      if (answer.ok) await kept.put(request, answer);
      else if (answer.status !== 404) throw new Error(`${request.url}: ${answer.status}`);
    }
  }
  await self.skipWaiting();
}

self.addEventListener('install', event => event.waitUntil(renew()));
self.addEventListener('activate', event => event.waitUntil((async () => {
  for (const name of await older()) await caches.delete(name);
  await self.clients.claim();
})()));

// What ends in .wasm lies on the host as a .gz: kept unpacked it has an address, under which the browser keeps what it compiled.
async function brought(request) {
  if (!request.url.includes('.wasm?')) return fetch(request, { cache: 'no-cache' });
  const answer = await fetch(request.url.replace('.wasm?', '.wasm.gz?'), { cache: 'no-cache' });
  if (!answer.ok) return answer;
  const [first, body] = answer.body.tee(), reader = first.getReader();
  const { value } = await reader.read();
  reader.cancel();
  const packed = value?.[0] === 0x1f && value?.[1] === 0x8b;  // some hosts unpack .gz themselves
  const headers = { 'content-type': 'application/wasm' };
  return new Response(packed ? body.pipeThrough(new DecompressionStream('gzip')) : body, { headers });
}

// The network first, and never its older copy in the browser, because pages change; parts of the engine do not.
self.addEventListener('fetch', event => {
  const { request } = event;
  if (request.method !== 'GET' || !own(request.url)) return;
  event.respondWith((async () => {
    const kept = await caches.open(KEEP);
    const copy = await kept.match(request, { ignoreSearch: !fixed(request.url) });
    if (copy && fixed(request.url)) return copy;
    try {
      const answer = await brought(request);
      if (answer.status !== 200) return answer;
      if (fixed(request.url)) {  // parts are large: no second copy in memory
        await kept.put(request, answer).catch(() => {});
        return await kept.match(request) ?? await brought(request);  // a full disk: not kept, but shown
      }
      await kept.put(request, answer.clone()).catch(() => {});
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
  for (const address of event.data) if (own(address) && !await kept.match(address)) await kept.add(address).catch(() => {});
})()));
