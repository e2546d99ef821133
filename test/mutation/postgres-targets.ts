import type { Target } from './target.js';

const target = (name: string, ...tests: readonly (readonly string[])[]): Target => ({
  file: `src/store/dialect/postgres/${name}.ts`,
  tests: [...new Set(tests.flat())].map((test) => `test/${test}.test.ts`),
});
const store = (...names: readonly string[]) => names.map((name) => `store/${name}`);
const own = (...names: readonly string[]) => names.map((name) => `store/dialect/postgres/${name}`);

const deltas = store('delta', 'unreadable-erasure', 'identity-follows-grant', 'changed-values', 'notices');
const listings = store('first-listing', 'relisting', 'awaiting-deletion', 'swap-erasure', 'proof-of-source');
const erased = store('erasures', 'unknown-fields-erasure', 'unreadable-erasure', 'swap-erasure');
const leased = store('leases', 'lease-later', 'clock-jump');

/** What the rooms of the mirror do differently on PostgreSQL. A trial starts a server, and runs no other tests. */
export const postgresTargets: readonly Target[] = [
  target('changes', deltas, listings),
  target('commit', deltas, listings, leased, store('unnamed-investor')),
  target('cursor', own('cursor', 'reader'), store('reads/export-rows', 'reads/reads')),
  target('delta', deltas),
  target('dimensions', store('dimensions', 'proof-of-source')),
  target('erase-source', store('erase-source')),
  target('erasures', erased, store('names-incomplete', 'identity-follows-grant')),
  target('faults', own('fault-table', 'faults')),
  target('fleet', own('fleet', 'gone-back')),
  target('fleet-message', own('fleet-message')),
  target('followed-sources', store('followed-sources')),
  target('identity-eraser', erased, store('identity-follows-grant'), listings),
  target('indexes', own('indexes', 'older-indexes')),
  target('leases', leased, store('erase-source', 'identity-follows-grant'), own('fleet')),
  target('listen-notify', own('listen-notify')),
  target('listing', listings, store('names-incomplete', 'drift')),
  target('locked-source', deltas, leased),
  target('mirror', deltas, listings, leased, store('drift'), own('durability', 'many-writers')),
  target('notices', store('notices', 'notice-spacing')),
  target('one-version', own('outdated')),
  target('page-rows', deltas, listings),
  target('purge', store('dimensions', 'changed-values', 'unknown-fields-erasure'), ['daemon/expired-values']),
  target(
    'quarantine',
    store('unreadable-erasure', 'delta', 'relisting', 'bounded-anomalies', 'awaiting-deletion'),
  ),
  target('recordset', deltas, store('equal-values')),
  target('row-text', own('row-text')),
  target('rows-ahead', own('rows-ahead')),
  target('scrub', own('scrub')),
  target('stage', listings),
  target('stored-row', deltas),
  target('swap', listings),
  target('transaction', deltas, leased, own('time-limits', 'ended-session', 'durability')),
  target('unknown-keys', store('unknown-fields-erasure')),
  target('values', own('values')),
  target('watch-pool', own('watch-pool')),
];
