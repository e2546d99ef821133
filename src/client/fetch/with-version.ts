import type { HeaderNames } from '../../wire/headers.js';
import type { Fetch } from './fetch.js';

/** Says which dated version of the contract we were written for, on every call, whatever the application is pinned to. */
export function withVersion(fetch: Fetch, names: HeaderNames, version: string): Fetch {
  const header = names.version.toLowerCase();
  return (call) =>
    fetch({ ...call, headers: { accept: 'application/json', ...call.headers, [header]: version } });
}
