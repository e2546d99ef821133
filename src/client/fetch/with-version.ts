import type { HeaderNames } from '../../wire/headers.js';
import type { Fetch } from './fetch.js';

/**
 * Adds the header with the contract version that rosterd was written for to every call, so the version the
 * application is pinned to does not matter.
 */
export function withVersion(fetch: Fetch, names: HeaderNames, version: string): Fetch {
  const header = names.version.toLowerCase();
  return (call) =>
    fetch({ ...call, headers: { accept: 'application/json', ...call.headers, [header]: version } });
}
