import type { WireFetch } from '../../src/client/fetch/fetch.js';

/**
 * Looks up the global at call time, because nock replaces it. Without a body type the two fetches have compatible
 * types.
 */
export const globalFetch: WireFetch = (url, init) => globalThis.fetch(url, init);
