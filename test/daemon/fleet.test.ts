import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { statusOf } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { type FreshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const secret = 'whsec_dGVzdC1zZWNyZXQtb2YtdGhlLWZsZWV0';
const patient = { timeout: 120_000, interval: 50 };

let sandbox: Sandbox;
let database: FreshDatabase;
let rows: ReturnType<typeof keptConnection>;
let daemons: Daemon[];

beforeEach(async () => {
  [sandbox, database] = await Promise.all([
    sandboxFor({ companies: 6, records: 60, limits: false }),
    migratedDatabase(),
  ]);
  rows = keptConnection(database.url);
  daemons = [];
});

afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.close()));
  await database.drop();
});

/** Every delivery fails, so that each notice stays in the outbox. */
const notices: Config['notices'] = [
  { kind: 'command', name: 'sink', command: ['false'], about: ['changes'], rules: {} },
];

/** The interval is an hour, so that a source ticks only at the start and after a webhook. */
async function start(): Promise<Daemon> {
  const config = configFor(sandbox, {
    folder: freshFolder(),
    database: database.url,
    receiver: { port: 0, secret },
  });
  // A server used by all tests at once may answer later than a daemon's timeout.
  const daemon = await vi.waitFor(() => startDaemon(partsFor({ ...config, notices })), patient);
  daemons.push(daemon);
  return daemon;
}

/** Returns how many sources each living member follows. */
const shares = async () =>
  (
    await rows<{ count: string }>(
      `SELECT count(s.source) FROM fleet_members m LEFT JOIN fleet_sources s USING (member)
       WHERE m.seen_at >= fleet_clock(8000) GROUP BY m.member`,
    )
  ).map(({ count }) => Number(count));

async function workerOf(source: string): Promise<Daemon> {
  const [found] = await rows<{ member: string }>(
    `SELECT member FROM fleet_sources WHERE source = '${source}'`,
  );
  const worker = daemons.find(({ engine }) => engine.holder === found?.member);
  if (worker === undefined) throw new Error(`nobody here works ${source}`);
  return worker;
}

async function deliver(to: Daemon, id: string, index: number): Promise<number> {
  const company = sandbox.ready.companies[index];
  const body = JSON.stringify({
    id,
    event: 'investment.changed',
    created_at: new Date().toISOString(),
    mode: 'test',
    installation: { id: company?.installation, target: null, test: false },
    data: { id: 'inv_x', visible: true, company: company?.id, observed_at: new Date().toISOString() },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'Service-Signature': `t=${t},v1=${v1}` };
  return (await fetch(to.receiverUrl ?? '', { method: 'POST', headers, body })).status;
}

const following = async () => (await rows("SELECT 1 FROM sources WHERE state = 'following'")).length;

test('fleet: each source is assigned to one daemon, and a webhook reaches the daemon that follows its source', {
  timeout: 480_000,
}, async () => {
  for (let count = 0; count < 3; count += 1) await start();
  await expect.poll(shares, patient).toEqual([2, 2, 2]);
  await expect.poll(following, patient).toBe(6);

  const config = configFor(sandbox, { folder: freshFolder(), database: database.url });
  const { fleet } = await statusOf(config.database, systemClock, config);
  expect(fleet?.map(({ alive, leads, sources }) => [alive, leads, sources.length])).toEqual([
    [1, 1, 2],
    [1, 0, 2],
    [1, 0, 2],
  ]);
  // A daemon knows its share only when the database has answered.
  const scraped = async () => {
    const texts = daemons.map(async ({ consoleUrl }) => (await fetch(`${consoleUrl}/metrics`)).text());
    return (await Promise.all(texts)).map((text) =>
      ['sources', 'leads'].map((name) => text.match(new RegExp(`^rosterd_fleet_${name} (.*)$`, 'm'))?.[1]),
    );
  };
  const metrics = [
    ['2', '1'],
    ['2', '0'],
    ['2', '0'],
  ];
  await expect.poll(scraped, patient).toEqual(metrics);

  const worker = await workerOf('c3');
  const ticksOf = daemons.map((daemon) => {
    const ticked: string[] = [];
    daemon.engine.sync.onTick((source, { report }) => void ticked.push(`${source} ${report.trigger}`));
    return { daemon, ticked };
  });
  const company = sandbox.ready.companies[3];
  await control(sandbox, 'POST', '/investments', { company: company?.id, count: 4 });
  const other = daemons.find((daemon) => daemon !== worker);
  expect(other && (await deliver(other, 'evt_1', 3))).toBe(202);
  await expect
    .poll(() => rows("SELECT 1 FROM changes WHERE source = 'c3' AND kind = 'added'"), patient)
    .toHaveLength(4);
  await expect
    .poll(() => rows("SELECT 1 FROM webhook_inbox WHERE event_id = 'evt_1' AND state = 'worked'"), patient)
    .toHaveLength(1);
  for (const { daemon, ticked } of ticksOf)
    expect(ticked.filter((tick) => tick.startsWith('c3')).length > 0).toBe(daemon === worker);
});

test('fleet: a daemon that leaves releases its sources at once, and the others catch up on them, with the names of now in notices', {
  timeout: 480_000,
}, async () => {
  const first = await start();
  await start();
  await expect.poll(shares, patient).toEqual([3, 3]);
  await expect.poll(following, patient).toBe(6);
  const [held] = await rows<{ source: string }>(
    `SELECT source FROM fleet_sources WHERE member = '${first.engine.holder}' ORDER BY source`,
  );
  const company = sandbox.ready.companies[Number(held?.source.slice(1))];
  await expect
    .poll(() => rows(`SELECT 1 FROM rounds WHERE source = '${held?.source}'`), patient)
    .not.toHaveLength(0);
  await rows(
    `UPDATE offering_rows SET name = 'Listed later' WHERE source_no = (SELECT no FROM sources WHERE name = '${held?.source}')`,
  );
  await control(sandbox, 'POST', '/investments', { company: company?.id, count: 2 });
  await first.close();
  await expect.poll(shares, patient).toEqual([6]);
  await expect
    .poll(() => rows(`SELECT 1 FROM changes WHERE source = '${held?.source}' AND kind = 'added'`), patient)
    .toHaveLength(2);
  const bodies = await rows<{ body: string }>('SELECT body FROM notice_rows');
  const named = bodies.map(({ body }) => JSON.parse(body) as { source: string; round_name: string | null });
  expect(named.filter(({ source }) => source === held?.source).map((one) => one.round_name)).toEqual([
    ...['Listed later', 'Listed later'],
  ]);
});
