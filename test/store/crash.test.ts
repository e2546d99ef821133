import type pg from 'pg';
import { describe, expect } from 'vitest';
import type { Cursor } from '../../src/domain/position.js';
import type { Lease, Mirror, TickReport } from '../../src/sync/ports.js';
import { testRandom } from '../support/chance.js';
import { test } from './both-databases.js';
import { failingStore } from './failing-database.js';
import { cautious, freshStore, mirrorFixture, type Store } from './mirror-fixture.js';
import { deltaPage, listingPage, record, rejected, tickReport, tombstone } from './samples.js';

const tables = [
  'sources',
  'listings',
  'sweeps',
  'investment_rows',
  'identity_rows',
  'awaiting_deletion_rows',
  'history_rows',
  'change_rows',
  'staged_rows',
  'staged_pages',
  'tick_rows',
  'quarantine_rows',
  'drift_rows',
  'notice_rows',
  'erasures',
];

const items = [
  record('inv_1', { status: 'x', extra: '{"new":1}' }, null),
  record('inv_4'),
  tombstone('inv_2'),
  rejected('inv_3'),
  rejected(null),
];
const begin = (kind: 'first' | 'relist') => (mirror: Mirror, lease: Lease) =>
  mirror.beginListing(lease, { kind, fingerprint: 'f2', restarts: 1, notBefore: null });
const addPage = (mirror: Mirror, lease: Lease) => mirror.addListingPage(lease, listingPage(items, 'end'));
const addPlain = (mirror: Mirror, lease: Lease) =>
  mirror.addListingPage(lease, listingPage([record('inv_1'), record('inv_4')], 'p1', true));
const publish = (mirror: Mirror, lease: Lease) => mirror.publishListing(lease, 'end' as Cursor, cautious);
const braked = { share: 0, rows: 1, accepted: false };
/** Names one stored row and one new row. */
const addFew = (mirror: Mirror, lease: Lease) =>
  mirror.addListingPage(lease, listingPage([record('inv_3', { status: 'y' }), record('inv_9')], 'end'));
const publishBraked = (mirror: Mirror, lease: Lease) => mirror.publishListing(lease, 'end' as Cursor, braked);
const awaiting = [begin('relist'), addFew, publishBraked];
const apply = (mirror: Mirror, lease: Lease) =>
  mirror.applyPage(lease, deltaPage(items), { kind: 'following', cursor: 'c' as Cursor });
const report = tickReport();
const applyLast = (mirror: Mirror, lease: Lease) =>
  mirror.applyPage(
    lease,
    deltaPage(items),
    { kind: 'following', cursor: 'c' as Cursor },
    (applied): TickReport => ({ ...report, applied }),
  );
const tick = (mirror: Mirror, lease: Lease) =>
  mirror.recordTick(
    lease,
    { ...report, mode: 'none', pages: 0, outcome: 'failed', code: 'forbidden', message: 'no' },
    { code: 'forbidden', message: 'no' },
  );

type Write = (mirror: Mirror, lease: Lease) => Promise<unknown>;
const writes: Record<
  string,
  { readonly listed: boolean; readonly before: readonly Write[]; readonly write: Write }
> = {
  'beginning a first listing': { listed: false, before: [begin('first'), addPage], write: begin('first') },
  'a page of a first listing': { listed: false, before: [begin('first')], write: addPage },
  'a later page of a first listing': { listed: false, before: [begin('first'), addPlain], write: addPlain },
  'publishing a first listing': { listed: false, before: [begin('first'), addPage], write: publish },
  'a delta page': { listed: true, before: [], write: apply },
  'the last delta page of a tick': { listed: true, before: [], write: applyLast },
  'beginning a re-listing': { listed: true, before: [begin('relist'), addPage], write: begin('relist') },
  'a page of a re-listing': { listed: true, before: [begin('relist')], write: addPage },
  'publishing a re-listing': { listed: true, before: [begin('relist'), addPage], write: publish },
  'publishing a re-listing whose deletions exceed the brake': {
    listed: true,
    before: [begin('relist'), addFew],
    write: publishBraked,
  },
  'publishing another re-listing after it': {
    listed: true,
    before: [...awaiting, begin('relist'), addPage],
    write: publishBraked,
  },
  'deleting the rows that await deletion': {
    listed: true,
    before: awaiting,
    write: (mirror, lease) => mirror.deleteAwaiting(lease),
  },
  'a delta page that names rows awaiting deletion': { listed: true, before: awaiting, write: apply },
  'a re-listing page that names rows awaiting deletion': {
    listed: true,
    before: [...awaiting, begin('relist')],
    write: addPage,
  },
  'recording a tick that halts': { listed: true, before: [], write: tick },
};

const everyRow = tables.map((table) => `SELECT * FROM ${table} ORDER BY 1, 2`);

/**
 * Returns a function that returns the rows of all tables, as text: there are hundreds of dumps, and texts are compared fast.
 * Of PostgreSQL it takes one round trip.
 */
function dumpOf(store: Store): () => Promise<string> {
  if (store.kind === 'sqlite') {
    const statements = everyRow.map((sql) => store.sqlite.raw.prepare(sql));
    return async () => JSON.stringify(statements.map((statement) => statement.all()));
  }
  const { pool } = store.postgres;
  return async () => {
    const results = (await pool.query(everyRow.join('; '))) as unknown as pg.QueryResult[];
    return JSON.stringify(results.map(({ rows }) => rows));
  };
}

describe('a write that fails at any statement is applied completely or not at all:', () => {
  test.each(Object.entries(writes))(
    '%s is written completely or not at all',
    async (_name, { listed, before, write }) => {
      const { store, failAt } = failingStore(await freshStore());
      const notices = {
        draft: (changes: readonly { seq: number; id: string }[]) =>
          changes.map(({ seq, id }) => ({ id, seq, target: 'hook', body: id })),
        fold: () => null,
      };
      const { mirror, lease, list } = await mirrorFixture({ store, notices });
      if (listed) await list([[record('inv_1'), record('inv_2'), record('inv_3'), record('inv_5')]]);
      for (const step of before) await step(mirror, lease);
      const dump = dumpOf(store);
      const old = await dump();
      const random = testRandom();
      let failures = 0;
      let statement = 1;
      // On PostgreSQL every second statement or so; other seeds choose others.
      const stride = () => (store.kind === 'sqlite' ? 1 : 1 + Math.floor(random.fraction() * 3));
      for (; ; statement += stride()) {
        failAt(statement);
        const failed = await write(mirror, lease).then(
          () => false,
          (error: Error) => error.message === 'injected failure',
        );
        failAt(Number.POSITIVE_INFINITY);
        if (!failed) break;
        failures += 1;
        expect(await dump()).toBe(old);
        if (store.kind === 'sqlite') expect(store.sqlite.raw.inTransaction).toBe(false);
      }
      expect(statement).toBeGreaterThan(6);
      expect(failures).toBeGreaterThanOrEqual(2);
      expect(await dump()).not.toBe(old);
    },
  );
});
