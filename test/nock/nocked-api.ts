import nock from 'nock';
import { afterEach, beforeEach, expect } from 'vitest';
import { createApi } from '../../src/client/api.js';
import { withCaps } from '../../src/client/fetch/with-caps.js';
import { systemClock } from '../../src/runtime/clock.js';
import { headerNames } from '../../src/wire/headers.js';
import { globalFetch } from './global-fetch.js';

/** An address without a server; only nock answers. */
export const host = 'https://api.test';
export const { signal } = new AbortController();
export const api = createApi({
  baseUrl: host,
  fetch: withCaps(globalFetch),
  names: headerNames(),
  clock: systemClock,
});

/** Allows the tests of a file no real connection, and fails one that does not send every request it prepared for. */
export function onlyMocked(): void {
  beforeEach(() => nock.disableNetConnect());
  afterEach(() => {
    const unused = nock.pendingMocks();
    nock.cleanAll();
    nock.enableNetConnect();
    expect(unused).toEqual([]);
  });
}
