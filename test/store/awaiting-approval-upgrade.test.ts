import { expect, onTestFinished, test } from 'vitest';
import type { Cursor } from '../../src/domain/position.js';
import { systemClock } from '../../src/runtime/clock.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { mirrorFixture, rowsOf, type Store } from './mirror-fixture.js';
import { recordDefaults } from './support/mirror.js';
import { tempFolder } from './temp-folder.js';

/** The last schema under which a source stopped at the deletion brake and kept its collected listing. */
const lastHeld = { sqlite: 11, postgres: 6 } as const;
const options = { clock: systemClock, version: '0.1.0' };

const stores: Record<Store['kind'], () => Promise<{ store: Store; upgrade: () => Promise<unknown> }>> = {
  async sqlite() {
    const sqlite = openSqlite(`${tempFolder()}/mirror.db`);
    onTestFinished(() => sqlite.close());
    const migrations = shippedMigrations('sqlite').filter(({ number }) => number <= lastHeld.sqlite);
    migrateSqlite(sqlite, { ...options, migrations });
    return { store: { kind: 'sqlite', sqlite }, upgrade: async () => migrateSqlite(sqlite, options) };
  },
  async postgres() {
    const postgres = await openPostgres((await freshDatabase()).url);
    onTestFinished(() => postgres.close());
    const migrations = shippedMigrations('postgres').filter(({ number }) => number <= lastHeld.postgres);
    await migratePostgres(postgres, { ...options, migrations });
    return { store: { kind: 'postgres', postgres }, upgrade: () => migratePostgres(postgres, options) };
  },
};

const at = '2026-04-01T00:00:00.000Z';

/** Four rows of which a complete listing names two, one of them changed. `halted`: the source was also halted then. */
async function fillHeld(store: Store, halted: boolean): Promise<void> {
  const insert = (table: string, row: Readonly<Record<string, unknown>>) =>
    rowsOf(
      store,
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row).map(() => '?')})`,
      ...Object.values(row),
    );
  await insert('sources', {
    no: 1,
    name: 'acme',
    fingerprint: 'f1',
    cursor: 'c_old',
    cursor_saved_at: at,
    generation: 2,
    listed_at: at,
    listed_seq: 1,
    rows_held: 4,
    last_listing_at: at,
    last_committed_at: at,
    identity_included: 1,
    last_outcome: 'held',
    last_error_code: 'too_many_deletions',
    last_error_at: at,
    ...(halted
      ? {
          state: 'halted',
          halted_from: 'held',
          halted_code: 'forbidden',
          halted_message: 'no',
          halted_at: at,
        }
      : { state: 'held' }),
  });
  await insert('change_rows', { seq: 1, source_no: 1, kind: 'snapshot', at });
  if (store.kind === 'postgres') await rowsOf(store, 'UPDATE feed_counter SET last_seq = 1');
  for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
    const row = { row_no: index + 1, source_no: 1, id, ...recordDefaults, investor_id: `usr_${id}` };
    await insert('investment_rows', row);
    await insert('identity_rows', { row_no: index + 1, name: id });
  }
  await insert('listings', {
    source_no: 1,
    kind: 'relist',
    generation: 2,
    pages: 1,
    rows: 2,
    started_at: at,
    low_mark: at,
    final: 'f_new',
    would_remove: 2,
  });
  await insert('staged_rows', {
    source_no: 1,
    id: 'b',
    row_no: 2,
    ...recordDefaults,
    status: 'executed',
    investor_id: 'usr_b',
    identity: JSON.stringify({ name: 'b', email_hidden: false }),
  });
  await insert('staged_pages', {
    source_no: 1,
    page: 0,
    seen: store.kind === 'sqlite' ? '[1,2]' : [1, 2],
  });
}

const open = (store: Store) => mirrorFixture({ store });

for (const kind of ['sqlite', 'postgres'] as const)
  for (const halted of [false, true])
    test(`a listing that an earlier version left ${halted ? 'halted and ' : ''}held is published without its deletions (${kind})`, async () => {
      const { store, upgrade } = await stores[kind]();
      await fillHeld(store, halted);
      await upgrade();
      expect(await rowsOf(store, 'SELECT state, awaiting_deletion FROM sync_status')).toEqual([
        { state: halted ? 'halted' : 'relisting', awaiting_deletion: 0 },
      ]);
      const { mirror, lease } = await open(store);
      const { phase } = await mirror.open({ name: 'acme' as never, fingerprint: 'f1' }, 'tester');
      const before = phase.kind === 'halted' ? phase.before : phase;
      expect(before).toMatchObject({ kind: 'listing', listing: { kind: 'relist', final: 'f_new' } });
      const again = { ...lease, fence: lease.fence + 1 };
      const policy = { share: 0.25, rows: 2, accepted: false };
      await mirror.publishListing(again, 'f_new' as Cursor, policy);
      expect(await rowsOf(store, 'SELECT id, status FROM investments ORDER BY id')).toEqual([
        { id: 'a', status: 'active' },
        { id: 'b', status: 'executed' },
        { id: 'c', status: 'active' },
        { id: 'd', status: 'active' },
      ]);
      expect(await rowsOf(store, 'SELECT id FROM awaiting_deletion ORDER BY id')).toEqual([
        { id: 'c' },
        { id: 'd' },
      ]);
      expect(await rowsOf(store, 'SELECT state, names_from_generation FROM sources')).toEqual([
        { state: 'sweeping', names_from_generation: null },
      ]);
    });

for (const kind of ['sqlite', 'postgres'] as const)
  test(`the state held, written by an earlier version running at the same time, is read as a listing (${kind})`, async () => {
    const { store, upgrade } = await stores[kind]();
    await fillHeld(store, false);
    await upgrade();
    await rowsOf(store, "UPDATE sources SET state = 'held'");
    const { mirror } = await open(store);
    const { phase } = await mirror.open({ name: 'acme' as never, fingerprint: 'f1' }, 'tester');
    expect(phase).toMatchObject({ kind: 'listing', listing: { final: 'f_new' } });
  });

for (const kind of ['sqlite', 'postgres'] as const)
  test(`an upgrade marks names incomplete when an earlier version left some out after the grant returned (${kind})`, async () => {
    const { store, upgrade } = await stores[kind]();
    await fillHeld(store, false);
    await rowsOf(store, 'DELETE FROM identity_rows WHERE row_no > 1');
    await rowsOf(store, "UPDATE sources SET state = 'following'");
    await upgrade();
    expect(await rowsOf(store, 'SELECT names_incomplete FROM sync_status')).toEqual([
      { names_incomplete: 1 },
    ]);
    expect(await rowsOf(store, 'SELECT names_from_generation FROM sources')).toEqual([
      { names_from_generation: 3 },
    ]);
  });
