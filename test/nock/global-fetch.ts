import type { WireFetch } from '../../src/client/fetch/fetch.js';

/** The global is looked up at call time, because nock replaces it. Without a body type the two fetches agree. */
export const globalFetch: WireFetch = (url, init) => globalThis.fetch(url, init);
