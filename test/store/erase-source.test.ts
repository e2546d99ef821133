import { expect, onTestFinished } from 'vitest';
import { collections } from '../../src/dimensions/collections/index.js';
import type { Listing, Row } from '../../src/dimensions/ports.js';
import type { SourceName } from '../../src/domain/ids.js';
import type { FollowedSource } from '../../src/installations/ports.js';
import type { DatabaseLocation } from '../../src/store/database-location.js';
import { PostgresDimensions } from '../../src/store/dialect/postgres/dimensions.js';
import { PostgresErasingCommits } from '../../src/store/dialect/postgres/erase-source.js';
import { PostgresFollowedSources } from '../../src/store/dialect/postgres/followed-sources.js';
import { SqliteDimensions } from '../../src/store/dialect/sqlite/dimensions.js';
import { SqliteErasingCommits } from '../../src/store/dialect/sqlite/erase-source.js';
import { SqliteFollowedSources } from '../../src/store/dialect/sqlite/followed-sources.js';
import { publicRelations } from '../../src/store/dictionary/relations.js';
import {
  type ErasingCommits,
  erasedTables,
  type SliceSizes,
  StoredSourceEraser,
  smallTables,
} from '../../src/store/erase-source.js';
import { openChangeSignal } from '../../src/store/reads/change-signal.js';
import { followChanges, newestChange } from '../../src/store/reads/changes.js';
import { openReader } from '../../src/store/reads/open-reader.js';
import type { SourceIdentity } from '../../src/sync/ports.js';
import { test } from './both-databases.js';
import { canonicalDump } from './canonical-dump.js';
import {
  bytesOf,
  erasuresOn,
  freshStore,
  mirrorFixture,
  mirrorOn,
  placeOf,
  rowsOf,
  SteppingClock,
  type Store,
} from './mirror-fixture.js';
import { acme, identity, record, rejected, tombstone } from './samples.js';
import { seedRow } from './support/seeds.js';

const beta: SourceIdentity = { name: 'beta' as SourceName, fingerprint: 'f1' };
const at = '2026-05-01T00:00:00.000Z';
const canary = 'CANARY-PERSON';
const small: SliceSizes = { rowsPerCommit: 7, numbersPerSlice: 20 };

interface Leasing {
  readonly holder?: string;
  readonly isGone?: (holder: string) => boolean;
}

function commitsOn(store: Store, { holder = 'eraser', isGone = () => false }: Leasing = {}): ErasingCommits {
  const options = {
    clock: new SteppingClock(Date.parse('2026-05-01T02:00:00.000Z')),
    leaseMs: 60_000,
    holder,
    isGone,
  };
  return store.kind === 'sqlite'
    ? new SqliteErasingCommits(store.sqlite, options)
    : new PostgresErasingCommits(store.postgres, options);
}

const eraserOn = (store: Store, sizes?: SliceSizes) => new StoredSourceEraser(commitsOn(store), sizes);

/** Writes everything that a source can have: versions, a listing in progress, companies, events and so on. */
async function fill(store: Store, source: SourceIdentity, from = 0): Promise<void> {
  const { name } = source;
  const clock = new SteppingClock(Date.parse(at) + from * 60_000);
  const fixture = await mirrorFixture({ store, source, clock });
  const { mirror, lease, delta, list, collect } = fixture;
  const id = (number: number) => `inv_${name}_${number}`;
  const person = (number: number) =>
    identity(`${canary} ${name} ${number}`, { bio: `${canary} bio`, extra: `{"phone":"${canary}"}` });
  const item = (number: number, more: object = {}) =>
    record(
      id(number),
      { investor_id: `usr_${number % 5}`, extra: `{"note":"${canary}"}`, ...more },
      person(number),
    );
  const all = Array.from({ length: 40 }, (_, number) => item(number));
  if (from === 0) await list([all]);
  const changed = [1, 2, 3, 4].map((number) => item(number, { raised_cents: (from + number) * 100 }));
  await delta(from === 0 ? changed : [...changed, item(40 + from)]);
  await delta([tombstone(id(5 + from)), rejected(id(6), `{"name":"${canary}"}`)]);
  const dimensions =
    store.kind === 'sqlite'
      ? new SqliteDimensions(store.sqlite, clock)
      : new PostgresDimensions(store.postgres, clock);
  for (const label of ['first', 'second']) {
    const { attempt } = await dimensions.begin(name, ['companies', 'rounds', 'company_updates'], []);
    await dimensions.apply(name, attempt, [
      complete('companies', { id: 'co_1', name: `${name} ${label} ${from}`, reported_rounds: '[]' }),
      complete('rounds', { id: 'ofr_1', company_id: 'co_1', name: `${label} ${from}` }),
      complete('company_updates', { id: 'upd_1', company_id: 'co_1', title: `${label} ${from}` }),
    ]);
  }
  const [{ no }] = (await rowsOf(store, 'SELECT no FROM sources WHERE name = ?', name)) as [{ no: number }];
  await seedRow(store, 'notice_rows', {
    source_no: no,
    seq: 1,
    target: 't',
    body: name,
    queued_at: at,
    next_at: at,
  });
  await seedRow(store, 'tick_rows', {
    ...{ source_no: no, trigger: 'timer', mode: 'delta', started_at: at, took_ms: 1, pages: 1, added: 0 },
    ...{ changed: 0, removed: 0, quarantined: 0, outcome: 'done' },
  });
  if (from > 0) return;
  await seedRow(store, 'round_stat_rows', {
    ...{
      source_no: no,
      offering_id: 'ofr_1',
      status: 'active',
      investments: 1,
      committed_cents: 2,
      raised_cents: 3,
    },
    asked_at: at,
  });
  await seedRow(store, 'drift_rows', { source_no: no, field: 'x', times: 1, first_seen: at, last_seen: at });
  await rowsOf(store, 'INSERT INTO pauses (source, paused_at) VALUES (?, ?)', name, at);
  await rowsOf(
    store,
    `INSERT INTO operator_requests (source, kind, actor, role, asked_at) VALUES (?, 'resync', 'a', 'operator', ?)`,
    ...[name, at],
  );
  await rowsOf(
    store,
    `INSERT INTO followed_sources (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
     VALUES (?, 'crm', 'live', 'company', ?, ?, 'disconnected', 1, ?)`,
    ...[name, `co_${name}`, `inst_${name}`, at],
  );
  for (const [event, concerned, state] of [
    ['investment.changed', name, 'pending'],
    ['investment.changed', 'acme,beta', 'pending'],
    ['offering.opened', null, 'ignored'],
    ['installation.revoked', null, 'pending'],
  ] as const)
    await rowsOf(
      store,
      `INSERT INTO webhook_inbox (event_id, installation, event, source, received_at, state, body)
       VALUES (?, ?, ?, ?, ?, ?, '{}')`,
      ...[`evt_${event}_${concerned}`, `inst_${name}`, event, concerned, at, state],
    );
  // A re-listing that got half-way.
  await collect([[item(1), item(7, { status: 'executed' })], [item(90)]], 'relist');
  await mirror.release(lease);
}

const complete = (name: 'companies' | 'rounds' | 'company_updates', row: Row): Listing => ({
  kind: 'complete',
  collection: collections[name],
  rows: [{ ...Object.fromEntries(collections[name].columns.map((column) => [column, null])), ...row }],
  problem: null,
});

/** Two sources whose rows and numbers interleave. */
async function twoSources(): Promise<Store> {
  const store = await freshStore();
  await fill(store, beta);
  await fill(store, acme);
  await fill(store, beta, 1);
  await fill(store, acme, 1);
  return store;
}

const owningTables = [
  ...[...erasedTables.map(({ name }) => name), ...smallTables].filter(
    (table) => table !== 'identity_rows' && table !== 'webhook_inbox' && table !== 'erasures',
  ),
];

const sourceNo = async (store: Store, name: string) =>
  ((await rowsOf(store, 'SELECT no FROM sources WHERE name = ?', name))[0] as { no: number } | undefined)?.no;

/** Returns every row of every table that belongs to a source, as text. */
async function rowsOfSource(
  store: Store,
  name: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const no = await sourceNo(store, name);
  const dump: Record<string, readonly string[]> = {};
  const read = async (table: string, where: string, ...values: readonly unknown[]) => {
    const rows = await rowsOf(store, `SELECT * FROM ${table} WHERE ${where}`, ...values);
    dump[table] = rows.map((row) => JSON.stringify(row)).sort();
  };
  for (const table of owningTables) await read(table, 'source_no = ?', no);
  await read('identity_rows', 'row_no IN (SELECT row_no FROM investment_rows WHERE source_no = ?)', no);
  for (const table of ['pauses', 'operator_requests', 'followed_sources'])
    await read(table, 'source = ?', name);
  await read('webhook_inbox', 'installation = ?', `inst_${name}`);
  await read('erasures', 'source_no = ?', no);
  await read('sources', 'no = ?', no);
  return dump;
}

const shownOf = async (store: Store, name: string) => {
  const shown: string[] = [];
  for (const { name: relation, columns } of publicRelations) {
    const hasSource = columns.some((column) => column.name === 'source');
    if (!hasSource || ['followed_sources', 'sync_status', 'webhook_inbox'].includes(relation)) continue;
    if ((await rowsOf(store, `SELECT 1 FROM ${relation} WHERE source = ?`, name)).length > 0)
      shown.push(relation);
  }
  return shown;
};

test('erasing a source deletes everything of it, and not a single row of another source changes', async () => {
  const store = await twoSources();
  const before = await rowsOfSource(store, 'beta');
  const empty = Object.entries(before).filter(([, rows]) => rows.length === 0);
  expect(empty.map(([table]) => table)).toEqual(['sweeps']);
  const all = Object.values(await rowsOfSource(store, 'acme')).reduce((sum, rows) => sum + rows.length, 0);
  const { rows } = await eraserOn(store, small).erase(acme.name);
  expect(await rowsOfSource(store, 'beta')).toEqual(before);
  const left = Object.entries(await rowsOfSource(store, 'acme')).filter(([, found]) => found.length > 0);
  // The entry of the registry, the event for both sources, and the pending one about the installation.
  expect(left.map(([table, found]) => [table, found.length])).toEqual([
    ['followed_sources', 1],
    ['webhook_inbox', 2],
  ]);
  const events = "SELECT event, source FROM webhook_inbox WHERE installation = 'inst_acme' ORDER BY event";
  expect(await rowsOf(store, events)).toEqual([
    { event: 'installation.revoked', source: null },
    { event: 'investment.changed', source: 'acme,beta' },
  ]);
  expect(rows).toBe(all - 3);
  expect(await eraserOn(store).erase(acme.name)).toEqual({ rows: 0 });
});

/** The database of the store, on PostgreSQL as an analyst opens it. */
function placeOfAnalyst(store: Store): DatabaseLocation {
  const place = placeOf(store);
  if (place.kind !== 'postgres') return place;
  const url = new URL(place.url);
  url.searchParams.set('options', '-crole=rosterd_analyst');
  return { ...place, url: url.href };
}

test('a follower of the change feed, an analyst too, goes on after the source with the newest changes is erased', async () => {
  const store = await twoSources();
  const place = placeOfAnalyst(store);
  const reader = await openReader(place);
  const news = await openChangeSignal(place, reader.db, new SteppingClock(Date.parse(at)));
  onTestFinished(async () => {
    await news.close();
    await reader.close();
  });
  const known = await newestChange(reader.db);
  const followed = async (reached: number) => {
    const stop = new AbortController();
    const once = { next: async () => stop.abort(), lastAssigned: () => news.lastAssigned() };
    for await (const _ of followChanges(reader.db, { after: known, known: reached }, once, stop.signal));
  };
  await eraserOn(store).erase(acme.name);
  expect(await newestChange(reader.db)).toBeLessThan(known);
  await followed(known);
  await expect(followed(known + 1)).rejects.toMatchObject({ code: 'database_unusable' });
});

test('after the erasure every view shows what a mirror shows that never had the source', async () => {
  const store = await twoSources();
  await eraserOn(store, small).erase(acme.name);
  const other = await freshStore(store.kind);
  await fill(other, beta);
  await fill(other, beta, 1);
  const numbers = /"(?:change_seq|listed_seq|seq)":\d+,?/g;
  const shown = async (one: Store) => {
    const { erasures, followed_sources, webhook_inbox, ...views } = await canonicalDump(one);
    return Object.entries(views).map(([name, rows]) => [
      name,
      rows.map((row) => row.replace(numbers, '')).sort(),
    ]);
  };
  expect(await shown(store)).toEqual(await shown(other));
});

test('numbers of changes stay in the order of commit, and those of an erased source are not used again', async () => {
  const store = await freshStore();
  await fill(store, beta);
  await fill(store, acme);
  const seqs = async () =>
    (await rowsOf(store, 'SELECT seq, source FROM changes ORDER BY seq')) as {
      seq: number;
      source: string;
    }[];
  const all = await seqs();
  await eraserOn(store).erase(acme.name);
  const left = all.filter(({ source }) => source === 'beta');
  expect(await seqs()).toEqual(left);
  await fill(store, beta, 1);
  const added = (await seqs()).slice(left.length);
  expect(Number(added[0]?.seq)).toBe(Number(all.at(-1)?.seq) + 1);
  expect(added.map(({ seq }) => Number(seq))).toEqual(added.map((_, index) => Number(added[0]?.seq) + index));
});

/** Stops after so many commits, as a crash does. */
class Crashing implements ErasingCommits {
  readonly tables;
  readonly totals;
  constructor(
    private readonly commits: ErasingCommits,
    private left: number,
  ) {
    this.tables = commits.tables;
    this.totals = commits.totals;
  }
  async unfinished() {
    return await this.commits.unfinished();
  }
  async begin(source: SourceName) {
    return this.#counted(this.commits.begin(source));
  }
  async bounds(...about: Parameters<ErasingCommits['bounds']>) {
    return this.commits.bounds(...about);
  }
  async deleteSlice(...about: Parameters<ErasingCommits['deleteSlice']>) {
    const deleted = await this.commits.deleteSlice(...about);
    return deleted.found === 0 ? deleted : this.#counted(deleted);
  }
  async finish(...about: Parameters<ErasingCommits['finish']>) {
    return this.commits.finish(...about);
  }
  async #counted<Result>(result: Result): Promise<Result> {
    const value = await result;
    this.left -= 1;
    if (this.left === 0) throw new Error('crash');
    return value;
  }
}

test('an erasure that crashes after each of its commits shows nothing of the source, and the next one goes on', async () => {
  const store = await twoSources();
  const before = await rowsOfSource(store, 'beta');
  let crashes = 0;
  for (;;) {
    // Each attempt hides the source and deletes one slice.
    const commits = commitsOn(store, { holder: `eraser ${crashes}`, isGone: () => true });
    const eraser = new StoredSourceEraser(new Crashing(commits, crashes === 0 ? 1 : 2), small);
    const result = await eraser.erase(acme.name).catch((error: unknown) => error);
    if (!(result instanceof Error)) break;
    expect(result.message).toBe('crash');
    crashes += 1;
    expect(await shownOf(store, 'acme')).toEqual([]);
    expect(
      await rowsOf(store, "SELECT meaning, rows, readable FROM sync_status WHERE source = 'acme'"),
    ).toEqual([{ meaning: 'being erased: nothing is shown', rows: 0, readable: 0 }]);
  }
  expect(crashes).toBeGreaterThan(20);
  expect(await sourceNo(store, 'acme')).toBeUndefined();
  expect(await rowsOfSource(store, 'beta')).toEqual(before);
  expect(await rowsOf(store, "SELECT id, source_no FROM erasures WHERE cause = 'source_erased'")).toEqual([
    { id: 'acme', source_no: null },
  ]);
});

test('a source whose erasure was interrupted cannot be opened or listed until it is erased', async () => {
  const store = await twoSources();
  const commits = commitsOn(store, { isGone: () => true });
  await new StoredSourceEraser(new Crashing(commits, 3), small).erase(acme.name).catch(() => {});
  const clock = new SteppingClock(Date.parse('2026-05-02T00:00:00.000Z'));
  const mirror = mirrorOn(store, { clock, leaseMs: 60_000 });
  await expect(mirror.open(acme, 'daemon')).rejects.toMatchObject({
    code: 'lease_lost',
    message: 'source acme is being erased',
  });
  const dimensions =
    store.kind === 'sqlite'
      ? new SqliteDimensions(store.sqlite, clock)
      : new PostgresDimensions(store.postgres, clock);
  await expect(dimensions.begin(acme.name, ['rounds'], [])).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await eraserOn(store).unfinished()).toEqual([acme.name]);
  await eraserOn(store).erase(acme.name);
  expect(await eraserOn(store).unfinished()).toEqual([]);
  await expect(dimensions.begin(acme.name, ['rounds'], [])).rejects.toMatchObject({ code: 'lease_lost' });
  // A new source of the same name begins with nothing.
  expect(await mirror.open(acme, 'daemon')).toMatchObject({ phase: { kind: 'empty' } });
  expect(await shownOf(store, 'acme')).toEqual([]);
});

test('a process that has not noticed that a followed source ended cannot open it, and one followed again is not erased', async () => {
  const store = await twoSources();
  const clock = new SteppingClock(Date.parse('2026-05-02T00:00:00.000Z'));
  const registry =
    store.kind === 'sqlite'
      ? new SqliteFollowedSources(store.sqlite)
      : new PostgresFollowedSources(store.postgres);
  const ended = (await registry.list()).find(({ source }) => source === acme.name);
  if (ended === undefined) throw new Error('the source is registered');
  const row: FollowedSource = { ...ended, state: 'connected' };
  expect(await registry.save([{ before: ended, next: row }])).toEqual([]);
  await expect(eraserOn(store).erase(acme.name)).rejects.toMatchObject({
    code: 'lease_lost',
    message: 'source acme is followed again, so it is not erased',
  });
  const forgotten: FollowedSource = { ...row, state: 'disconnected', reason: 'forgotten' };
  expect(await registry.save([{ before: row, next: forgotten }])).toEqual([]);
  await eraserOn(store).erase(acme.name);
  const mirror = mirrorOn(store, { clock, leaseMs: 60_000 });
  const followed = { ...acme, isFollowed: true };
  await expect(mirror.open(followed, 'late')).rejects.toMatchObject({
    code: 'lease_lost',
    message: 'source acme is no longer synced: it is disconnected',
  });
  expect(await shownOf(store, 'acme')).toEqual([]);
  // What another process stored meanwhile is not overwritten, although state, installation and tokens are the same.
  const revoked: FollowedSource = { ...forgotten, reason: 'revoked' };
  expect(await registry.save([{ before: revoked, next: { ...revoked, state: 'erased' } }])).toEqual([
    acme.name,
  ]);
  // A source of the configuration may have the name of one that is no longer followed.
  expect((await mirror.open(acme, 'late')).phase).toEqual({ kind: 'empty' });
});

test('an erasure neither begins while another process holds the source nor goes on once another has taken it', async () => {
  const store = await twoSources();
  const clock = new SteppingClock(Date.parse('2026-05-01T01:59:30.000Z'));
  const mirror = mirrorOn(store, { clock, leaseMs: 60_000 });
  const { lease } = await mirror.open(acme, 'daemon');
  const before = await rowsOfSource(store, 'acme');
  await expect(eraserOn(store).erase(acme.name)).rejects.toMatchObject({
    code: 'lease_lost',
    message: expect.stringContaining('is held by daemon'),
  });
  expect(await rowsOfSource(store, 'acme')).toEqual(before);
  await mirror.release(lease);

  const commits = commitsOn(store);
  const taking: ErasingCommits = {
    tables: commits.tables,
    totals: commits.totals,
    unfinished: () => commits.unfinished(),
    begin: (source) => commits.begin(source),
    bounds: (...about) => commits.bounds(...about),
    deleteSlice: async (...about) => {
      await rowsOf(store, "UPDATE leases SET fence = fence + 1, holder = 'another'");
      return commits.deleteSlice(...about);
    },
    finish: (erasing) => commits.finish(erasing),
  };
  await expect(new StoredSourceEraser(taking).erase(acme.name)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(
    await rowsOf(
      store,
      'SELECT count(*) AS n FROM identity_rows i JOIN investment_rows r ON r.row_no = i.row_no WHERE r.source_no = ?',
      await sourceNo(store, 'acme'),
    ),
  ).not.toEqual([{ n: 0 }]);
});

test('an erasure deletes all rows in slices, whatever else deletes some of them meanwhile', async () => {
  const store = await twoSources();
  const commits = commitsOn(store);
  const slices: number[] = [];
  let left = {};
  const counting: ErasingCommits = {
    tables: commits.tables,
    totals: commits.totals,
    unfinished: () => commits.unfinished(),
    begin: (source) => commits.begin(source),
    bounds: (...about) => commits.bounds(...about),
    deleteSlice: async (...about) => {
      const slice = await commits.deleteSlice(...about);
      slices.push(slice.found);
      // As if a purge had deleted one of them meanwhile.
      return { ...slice, deleted: Math.max(0, slice.deleted - 1) };
    },
    finish: async (erasing) => {
      left = await rowsOfSource(store, 'acme');
      return commits.finish(erasing);
    },
  };
  await new StoredSourceEraser(counting, small).erase(acme.name);
  for (const table of ['identity_rows', 'history_rows', 'investment_rows', 'change_rows', 'tick_rows'])
    expect(left, table).toMatchObject({ [table]: [] });
  expect(Math.max(...slices)).toBe(small.rowsPerCommit);
  expect(slices.filter((rows) => rows > 0).length).toBeGreaterThan(20);
});

test('an erased source leaves a receipt, and after the scrub no byte of a person of it', async () => {
  const store = await freshStore();
  await fill(store, acme);
  expect(await bytesOf(store)).toContain(canary);
  await eraserOn(store, small).erase(acme.name);
  const erasures = erasuresOn(store, new SteppingClock(Date.parse('2026-05-03T00:00:00.000Z')));
  expect(await erasures.pending()).toMatchObject({ receipts: 1, residue: true });
  expect(await erasures.scrub()).toMatchObject({ kind: 'scrubbed' });
  expect(await bytesOf(store)).not.toContain(canary);
  expect(await erasures.pending()).toMatchObject({ receipts: 0, residue: false });
  // On SQLite the whole file is written again: names of the company are gone with the people.
  if (store.kind === 'sqlite') expect(await bytesOf(store)).not.toContain('acme second');
  expect(
    await rowsOf(
      store,
      "SELECT id, cause, scrubbed_at IS NULL AS waiting FROM erasures WHERE cause = 'source_erased'",
    ),
  ).toMatchObject([{ id: 'acme', cause: 'source_erased' }]);
});

test('an unlisted source, and one that was never stored, are erased too', async () => {
  const store = await freshStore();
  const fixture = await mirrorFixture({ store });
  await fixture.collect([[record('inv_1'), record('inv_2')]]);
  await fixture.mirror.release(fixture.lease);
  expect((await eraserOn(store).erase(acme.name)).rows).toBeGreaterThan(4);
  expect(await eraserOn(store).erase('never' as SourceName)).toEqual({ rows: 0 });
  expect(await rowsOf(store, 'SELECT * FROM investment_rows')).toEqual([]);
});
