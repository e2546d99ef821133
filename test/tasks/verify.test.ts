import { readFileSync, writeFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { sqliteFileOf } from '../../src/config/database.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { Interruption } from '../../src/runtime/interruption.js';
import { forget, personOrInvestment } from '../../src/tasks/forget.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { type SourceReceipt, type VerifyOptions, verify } from '../../src/tasks/verify.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from '../daemon/daemon-fixture.js';
import { openRaw } from '../support/open-raw.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';

const never = new AbortController().signal;
const ask: VerifyOptions = { sample: 5, seed: 7, full: false, calls: 100, repair: false, pauseMillis: 1 };
const whole: VerifyOptions = { ...ask, full: true };

interface World {
  readonly sandbox: Sandbox;
  readonly config: Config;
}

/** A platform that the test may change, and its mirror. */
async function ownWorld(records: number): Promise<World> {
  const sandbox = await sandboxFor({ companies: 1, records });
  const config = configFor(sandbox, { folder: freshFolder() });
  await syncOnce(partsFor(config), {}, never);
  return { sandbox, config };
}

/** Platforms that no test changes, by their number of records, each with what a sync reads from it. Many tests ask them. */
const platforms = new Map<number, Promise<{ readonly sandbox: Sandbox; readonly mirror: Buffer }>>();
afterAll(async () => {
  for (const { sandbox } of await Promise.all(platforms.values())) await sandbox.close();
});

async function filled(records: number) {
  const sandbox = await startSeededSandbox({ companies: 1, records, limits: false });
  const config = configFor(sandbox, { folder: freshFolder() });
  await syncOnce(partsFor(config), {}, never);
  return { sandbox, mirror: readFileSync(sqliteFileOf(config.database)) };
}

/** A mirror that the test may change, of a platform that it may not. With 120 records a listing has two pages. */
async function mirrored(records: 20 | 120 = 120): Promise<World> {
  const platform = platforms.get(records) ?? filled(records);
  platforms.set(records, platform);
  const { sandbox, mirror } = await platform;
  const config = configFor(sandbox, { folder: freshFolder() });
  writeFileSync(sqliteFileOf(config.database), mirror);
  return { sandbox, config };
}

/** Damages a row directly in the database, bypassing rosterd. Returns the id of the row. */
function breakRow({ database }: Config, sql: string, place = 3): string {
  const raw = new Sqlite(sqliteFileOf(database));
  try {
    const row = raw
      .prepare<[number], { row_no: number; id: string }>(
        'SELECT row_no, id FROM investment_rows WHERE visible = 1 ORDER BY id LIMIT 1 OFFSET ?',
      )
      .get(place);
    if (row === undefined) throw new Error('there is a row to break');
    raw.pragma('foreign_keys = ON');
    raw.prepare(sql).run({ row: row.row_no });
    return row.id;
  } finally {
    raw.close();
  }
}

async function requestsSince(sandbox: Sandbox, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const answer = (await control(sandbox, 'GET', '/requests')) as { requests: unknown[] };
    return answer.requests.length;
  };
  const before = await count();
  await work();
  return (await count()) - before;
}

const drifts = async (config: Config, options: VerifyOptions) => {
  const receipt = await verify(partsFor(config), options, never);
  return { receipt, source: receipt.sources[0], drift: receipt.sources[0]?.drift ?? [] };
};

test('verify: an equal mirror yields a receipt of what was compared, with every call counted', async () => {
  const { sandbox, config } = await mirrored();
  let receipt = await verify(partsFor(config), { ...whole, calls: 1 }, never);
  const asked = await requestsSince(sandbox, async () => {
    receipt = await verify(partsFor(config), whole, never);
  });
  const [source] = receipt.sources;
  expect(source).toMatchObject({ outcome: 'equal', drift: [], ended: null, repair: null });
  expect(source?.sample).toEqual({ seed: 7, compared: 5, unpublished: 0 });
  expect(source?.full).toEqual({ listed: source?.rows, compared: source?.rows, unreadable: 0 });
  expect(source?.stats?.total.count).toBe(source?.rows);
  expect(source?.stats?.total.committed_cents).toBeGreaterThan(0);
  expect(source?.published_through).toMatch(/^20\d\d-/);
  expect(receipt).toMatchObject({ equal: true, calls: { allowed: 100, spent: asked } });
});

test.each([
  [
    'amount',
    'UPDATE investment_rows SET committed_cents = committed_cents + 777 WHERE row_no = :row',
    'committed_cents',
  ],
  ['status', "UPDATE investment_rows SET status = 'odd' WHERE row_no = :row", 'status'],
  ['offering', "UPDATE investment_rows SET offering_id = 'ofr_other' WHERE row_no = :row", 'offering_id'],
  ['person', "UPDATE identity_rows SET name = 'Not Her Name' WHERE row_no = :row", 'identity.name'],
])('verify: a wrong %s is reported by id and column, never with a name', async (kind, sql, column) => {
  const { config } = await mirrored(20);
  const id = breakRow(config, sql);
  const { receipt, source, drift } = await drifts(config, whole);
  expect(receipt.equal).toBe(false);
  expect(source?.outcome).toBe('drift');
  const record = drift.find((one) => one.kind === 'record');
  expect(record).toMatchObject({ id, columns: [column] });
  expect(drift.some((one) => one.kind === 'tally')).toBe(kind !== 'person');
  expect(JSON.stringify(receipt)).not.toContain('Not Her Name');
  if (kind === 'amount') {
    const [amount] = record?.kind === 'record' ? record.amounts : [];
    expect(Number(amount?.held) - Number(amount?.platform)).toBe(777);
    const tally = drift.find((one) => one.kind === 'tally');
    expect(tally).toMatchObject({ amounts: [{ column: 'committed_cents' }] });
  }
});

test.each(['0000-01-01T00:00:00.000Z', '9999-01-01T00:00:00.000Z'])(
  'verify: a wrong time of publication (%s) is reported by a sample and by a listing, and a repair stores the right one',
  async (wrong) => {
    const { config } = await mirrored(20);
    const id = breakRow(config, `UPDATE investment_rows SET observed_at = '${wrong}' WHERE row_no = :row`);
    const misdated = { kind: 'record', id, columns: ['observed_at'], amounts: [] };
    expect((await drifts(config, { ...ask, sample: 1_000 })).drift).toEqual([misdated]);
    expect((await drifts(config, { ...whole, sample: 0 })).drift).toEqual([misdated]);
    const { receipt, source } = await drifts(config, { ...whole, repair: true });
    expect(receipt.equal).toBe(true);
    expect(source?.repair).toMatchObject({ outcome: 'done', added: 0, changed: 0, removed: 0 });
  },
);

test('verify: a missing and an extra row are reported, and only counted without --full', async () => {
  const { config } = await mirrored();
  const gone = breakRow(config, 'DELETE FROM investment_rows WHERE row_no = :row');
  const columns = `source_no, company_id, offering_id, investor_id, status, currency, committed_cents, raised_cents,
    needs_whitelisting, visible, investor_deactivated, via_entity, blockers, contracts, observed_at`;
  breakRow(
    config,
    `INSERT INTO investment_rows (id, ${columns}) SELECT 'inv_invented', ${columns} FROM investment_rows WHERE row_no = :row`,
    5,
  );
  breakRow(config, 'UPDATE investment_rows SET raised_cents = raised_cents + 1 WHERE row_no = :row', 9);
  const { drift } = await drifts(config, whole);
  expect(drift).toContainEqual({ kind: 'missing', id: gone });
  expect(drift).toContainEqual({ kind: 'extra', id: 'inv_invented' });

  const quick = await drifts(config, { ...ask, sample: 0 });
  expect(quick.drift.length).toBeGreaterThan(0);
  expect(quick.drift.every(({ kind }) => kind === 'tally')).toBe(true);
});

test('verify: a sample finds a wrong record it draws, and the same seed draws the same sample', async () => {
  const { config } = await mirrored(20);
  const id = breakRow(config, "UPDATE identity_rows SET email = 'x@example.org' WHERE row_no = :row");
  const all = await drifts(config, { ...ask, sample: 1_000 });
  expect(all.drift).toEqual([{ kind: 'record', id, columns: ['identity.email'], amounts: [] }]);
  expect(all.source?.sample?.compared).toBe(all.source?.rows);
});

test('verify: --repair lists the source again and verifies again', async () => {
  const { config } = await mirrored();
  breakRow(config, 'UPDATE investment_rows SET committed_cents = 1 WHERE row_no = :row');
  breakRow(config, 'DELETE FROM investment_rows WHERE row_no = :row', 8);
  const { receipt, source } = await drifts(config, { ...whole, repair: true });
  expect(receipt.equal).toBe(true);
  expect(source?.repair).toMatchObject({ outcome: 'done', added: 1, changed: 1, removed: 0 });
  expect(source?.repair?.drift.length).toBeGreaterThanOrEqual(2);
});

test('verify: changes during verification are not drift', async () => {
  const { sandbox, config } = await ownWorld(120);
  let churning = true;
  let churned = 0;
  const churn = (async () => {
    while (churning) {
      await control(sandbox, 'POST', '/churn', { changes: 3 });
      churned += 3;
    }
  })();
  const looks = [];
  for (let look = 0; look < 2; look += 1) {
    looks.push(await verify(partsFor(config), { ...whole, calls: 900 }, never));
  }
  churning = false;
  await churn;
  expect(churned).toBeGreaterThan(10);
  expect(looks.flatMap(({ sources }) => sources.flatMap(({ drift }) => drift))).toEqual([]);
  const quiet = await verify(partsFor(config), whole, never);
  expect(quiet.equal).toBe(true);
});

test('verify: a record that moves to another round meanwhile is not missing from a source of the first', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 40 });
  const [round, other] = sandbox.ready.companies[0]?.offerings ?? [];
  const { sources, ...config } = configFor(sandbox, { folder: freshFolder() });
  const filtered = {
    ...config,
    sources: sources.map((one) => ({ ...one, filters: { ...one.filters, offeringId: round as never } })),
  };
  await syncOnce(partsFor(filtered), {}, never);
  const raw = openRaw(sqliteFileOf(config.database));
  onTestFinished(() => {
    raw.close();
  });
  const ids = raw.prepare('SELECT id FROM investment_rows ORDER BY applied_at, row_no').pluck().all();
  // The first record of the sample differs. Before it is compared again, the last one moves.
  raw
    .prepare(
      'UPDATE identity_rows SET name = NULL WHERE row_no = (SELECT row_no FROM investment_rows WHERE id = ?)',
    )
    .run(ids[0]);
  let moved = false;
  const clock = {
    ...systemClock,
    wait: async (millis: number, signal?: Interruption) => {
      if (millis === ask.pauseMillis && !moved) {
        moved = true;
        await control(sandbox, 'PATCH', `/investments/${ids.at(-1)}`, { offering: other });
      }
      await systemClock.wait(millis, signal);
    },
  };
  const { sources: receipts } = await verify(
    { ...partsFor(filtered), clock },
    { ...ask, sample: 1_000 },
    never,
  );
  expect(moved && ids.length > 1).toBe(true);
  const named = { kind: 'record', id: ids[0], columns: ['identity.name'], amounts: [] };
  expect(receipts[0]).toMatchObject({ rows: ids.length - 1, drift: [named] });
});

test('verify: it never exceeds the call budget and reports what was not compared', async () => {
  const { sandbox, config } = await mirrored();
  for (const calls of [1, 2, 5, 8]) {
    let receipt = await verify(partsFor(config), { ...whole, calls: 100 }, never);
    const asked = await requestsSince(sandbox, async () => {
      receipt = await verify(partsFor(config), { ...whole, calls }, never);
    });
    expect(asked).toBe(calls);
    expect(receipt.calls).toEqual({ allowed: calls, spent: calls });
    expect(receipt.sources[0]).toMatchObject({
      outcome: 'unfinished',
      full: null,
      ended: { code: 'stopped', message: `the verification has used the ${calls} calls it may make` },
    });
  }
});

test('verify: a source for which no call was left says how to allow more', async () => {
  const sandbox = await sandboxFor({ companies: 2, records: 10 });
  const config = configFor(sandbox, { folder: freshFolder() });
  await syncOnce(partsFor(config), {}, never);
  const { sources } = await verify(partsFor(config), { ...whole, calls: 2 }, never);
  expect(sources.map(({ ended }) => ended?.hint)).toEqual(
    Array(2).fill('rosterd verify --calls N, with a larger N'),
  );
});

test('verify: drift found before the budget ended is still reported', async () => {
  const { config } = await mirrored();
  breakRow(config, 'UPDATE investment_rows SET committed_cents = 1 WHERE row_no = :row');
  const { source } = await drifts(config, { ...whole, calls: 4 });
  expect(source).toMatchObject({ outcome: 'drift', ended: { code: 'stopped' } });
});

test('verify: the call counter includes retries', async () => {
  const { sandbox, config } = await ownWorld(20);
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/offerings', times: 2, action: { status: 503 } },
  ]);
  let spent = 0;
  const asked = await requestsSince(sandbox, async () => {
    spent = (await verify(partsFor(config), ask, never)).calls.spent;
  });
  expect(spent).toBe(asked);
});

test('verify: identity that is not stored, for everyone or for a forgotten person, is not drift', async () => {
  const { config } = await mirrored(20);
  const raw = new Sqlite(sqliteFileOf(config.database), { readonly: true });
  const person = raw.prepare<[], string>('SELECT investor_id FROM investments LIMIT 1').pluck().get() ?? '';
  raw.close();
  await forget(config, personOrInvestment(person), systemClock, never);
  const all = { ...whole, sample: 1_000, calls: 500 };
  expect((await drifts(config, all)).receipt.equal).toBe(true);
  expect((await drifts({ ...config, identity: 'drop' }, all)).receipt.equal).toBe(true);
});

test('verify: it waits for its turn while a daemon ticks all the time', async () => {
  const { sandbox, config } = await ownWorld(40);
  const daemon = await startDaemon(partsFor({ ...config, sync: { ...config.sync, intervalSeconds: 1 } }));
  onTestFinished(() => daemon.close());
  await control(sandbox, 'POST', '/churn', { changes: 20 });
  const [name] = config.sources.map((source) => source.name);
  if (name === undefined) throw new Error('there is a source');
  const busy = daemon.engine.sync.tick(name, { resync: true });
  const receipt = await verify(partsFor(config), { ...whole, calls: 500 }, never);
  await busy;
  expect(receipt.sources[0]).toMatchObject({ outcome: 'equal', ended: null });
});

test('verify: a stop signal ends it with a partial receipt', async () => {
  const { config } = await mirrored(20);
  const stopping = new AbortController();
  stopping.abort();
  const { sources } = await verify(partsFor(config), whole, stopping.signal);
  expect(sources[0]).toMatchObject({ outcome: 'unfinished', ended: { code: 'stopped' } });
});

test('verify --full compares companies, rounds and posts too, and --repair lists them again', async () => {
  const { config } = await mirrored(20);
  const raw = openRaw(sqliteFileOf(config.database));
  onTestFinished(() => {
    raw.close();
  });
  const [id] = raw.prepare('SELECT id FROM offering_rows ORDER BY id').pluck().all() as [string];
  raw.prepare("UPDATE offering_rows SET name = 'Another', raised_cents_reported = 1 WHERE id = ?").run(id);
  expect((await verify(partsFor(config), ask, never)).equal).toBe(true);
  const found = await drifts(config, whole);
  // The raised figure moves with every investment, so it is as of the last listing.
  const listed = raw.prepare('SELECT min(listed_at) FROM collection_rows').pluck().get() as string;
  const dayAfter = new Date(Date.parse(listed) + 86_400_000).toISOString();
  const times = { listed_at: expect.stringMatching(/^20\d\d-/), due_at: dayAfter };
  expect(found.drift).toEqual([{ kind: 'record', id, columns: ['name'], amounts: [], ...times }]);
  expect(found.source).toMatchObject({ outcome: 'drift', catalog: 7 });
  const generation = () => raw.prepare('SELECT generation FROM sources').pluck().get();
  const before = generation();
  const mended = await drifts(config, { ...whole, repair: true });
  expect(mended.source).toMatchObject({ outcome: 'equal', drift: [], catalog: 7 });
  expect(mended.source?.repair?.drift).toHaveLength(1);
  // The investments do not differ, so they are not listed again.
  expect(generation()).toBe(before);
});

test('verify --full --repair lists investments as well when both they and a round differ', async () => {
  const { config } = await mirrored(20);
  breakRow(config, "UPDATE investment_rows SET group_label = 'odd' WHERE row_no = :row");
  const raw = new Sqlite(sqliteFileOf(config.database));
  raw.exec(renameRound);
  raw.close();
  const mended = await drifts(config, { ...whole, repair: true });
  expect(mended.source).toMatchObject({
    outcome: 'equal',
    drift: [],
    repair: { outcome: 'done', changed: 1 },
  });
  expect(mended.source?.repair?.drift.map((one) => 'listed_at' in one).toSorted()).toEqual([false, true]);
});

const renameRound =
  "UPDATE offering_rows SET name = 'Another' WHERE id = (SELECT min(id) FROM offering_rows)";

/** Runs `verify --full`, with `meanwhile` done to the mirror in its first pause. */
async function verifyWhile(config: Config, meanwhile: string): Promise<SourceReceipt | undefined> {
  const raw = new Sqlite(sqliteFileOf(config.database));
  onTestFinished(() => {
    raw.close();
  });
  let left = 1;
  const clock = {
    ...systemClock,
    wait: async (millis: number, signal?: Interruption) => {
      if (millis === whole.pauseMillis && left-- > 0) raw.exec(meanwhile);
      await systemClock.wait(millis, signal);
    },
  };
  const { sources } = await verify({ ...partsFor(config), clock }, whole, never);
  return sources[0];
}

test('verify --full lists again after an event that arrives while it compares rounds, and finds no drift', async () => {
  const { config } = await mirrored(20);
  const raw = new Sqlite(sqliteFileOf(config.database));
  raw.exec(renameRound);
  raw.close();
  const now = new Date().toISOString();
  const event = `INSERT INTO webhook_inbox (event_id, installation, event, received_at)
    VALUES ('evt_1', '', 'offering.closed', '${now}')`;
  expect(await verifyWhile(config, event)).toMatchObject({ outcome: 'equal', drift: [], catalog: 7 });
});

test('verify --full compares rounds again when a daemon lists them meanwhile', async () => {
  const { config } = await mirrored(20);
  const raw = new Sqlite(sqliteFileOf(config.database));
  const name = raw.prepare('SELECT name FROM offering_rows ORDER BY id LIMIT 1').pluck().get() as string;
  raw.exec(renameRound);
  raw.close();
  const listed = `${renameRound.replace('Another', name)};
    INSERT INTO change_rows (source_no, id, kind, about, at) SELECT 1, min(id), 'changed', 'round', '2026' FROM offering_rows`;
  expect(await verifyWhile(config, listed)).toMatchObject({ outcome: 'equal', drift: [], catalog: 7 });
});

test('verify: sums beyond 2^53 cents are compared to the last cent', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 20 });
  const most = { committed_cents: Number.MAX_SAFE_INTEGER };
  const huge = { company: sandbox.ready.companies[0]?.id, count: 3, set: { amounts: most } };
  await control(sandbox, 'POST', '/investments', huge);
  const config = configFor(sandbox, { folder: freshFolder() });
  await syncOnce(partsFor(config), {}, never);
  const { receipt, source } = await drifts(config, { ...ask, sample: 1_000 });
  expect([receipt.equal, source?.ended]).toEqual([true, null]);
  expect(source?.stats?.total.committed_cents).toBeGreaterThan(3n * BigInt(Number.MAX_SAFE_INTEGER) - 1n);

  // The company has a sum that cannot be stored, so whether it is stored as the platform has it is unknown.
  const full = await drifts(config, whole);
  expect(full.source).toMatchObject({ outcome: 'failed', ended: { code: 'contract_broken' } });

  breakRow(config, 'UPDATE investment_rows SET committed_cents = committed_cents - 1 WHERE row_no = :row');
  const { drift } = await drifts(config, { ...ask, sample: 0 });
  const [amount] = drift[0]?.kind === 'tally' ? drift[0].amounts : [];
  expect(amount?.column).toBe('committed_cents');
  expect(BigInt(amount?.platform ?? 0) - BigInt(amount?.held ?? 0)).toBe(1n);
});
