import { createHmac, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { configFrom } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { settingsSchema } from '../../src/config/settings.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { type Sandbox, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { systemRandom } from '../../src/runtime/random.js';

/*
 * From `PATCH /_sandbox/investments/{id}` to the row changed for another connection, over real sockets: the daemon
 * as it is, and beside it, change by change, a floor that does the least that could be called the same: verify,
 * fetch the page, one upsert and the cursor in one FULL commit. No inbox, no history, no Express, no checks.
 */

const changes = Number(process.argv[2] ?? 100);
const warmUp = 20;
const folder = mkdtempSync(join(tmpdir(), 'rosterd-latency-'));

interface Follower {
  readonly name: string;
  readonly sandbox: Sandbox;
  readonly ids: readonly string[];
  /** What another connection sees. */
  committed(id: string): number | undefined;
  close(): Promise<void>;
}

async function register(sandbox: Sandbox, url: string): Promise<string> {
  const response = await fetch(`${sandbox.ready.control}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: ['investment.changed'] }),
  });
  return ((await response.json()) as { secret: string }).secret;
}

function reading(file: string, sql: string): { read(id: string): number | undefined; close(): void } {
  const reader = new Sqlite(file, { readonly: true });
  const statement = reader.prepare<[string], number>(sql).pluck();
  return { read: (id) => statement.get(id), close: () => reader.close() };
}

async function daemonFollower(): Promise<Follower> {
  const sandbox = await startSandbox({ companies: 1, records: 1_000, limits: false });
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('the sandbox has a company');
  const port = await freePort();
  const secret = await register(sandbox, `http://127.0.0.1:${port}/webhooks`);
  const base = configFrom(
    settingsSchema.parse({
      platform: { baseUrl: sandbox.url },
      database: 'sqlite:daemon.db',
      sources: [
        { name: 'bench', token: company.token, company: company.id, installation: company.installation },
      ],
      sync: { intervalSeconds: 3_600 },
      console: null,
      receiver: { listen: `127.0.0.1:${port}`, secrets: [{ env: 'UNUSED' }] },
    }),
    { env: {}, folderOf: () => folder },
  );
  if (base.receiver === null) throw new Error('the daemon needs a receiver');
  const config = {
    ...base,
    receiver: { ...base.receiver, secrets: [new Secret('bench', secret, { env: {}, folder })] },
  };
  const daemon = await startDaemon({
    config,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  await daemon.engine.sync.idle();
  const reader = reading(config.database.file, 'SELECT committed_cents FROM investments WHERE id = ?');
  const ids = new Sqlite(config.database.file, { readonly: true })
    .prepare<[], string>("SELECT id FROM investments WHERE status = 'active' LIMIT 200")
    .pluck()
    .all();
  return {
    ...{ name: 'rosterd', sandbox, ids, committed: reader.read },
    close: async () => {
      reader.close();
      await daemon.close();
      await sandbox.close();
    },
  };
}

async function floorFollower(): Promise<Follower> {
  const sandbox = await startSandbox({ companies: 1, records: 1_000, limits: false });
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('the sandbox has a company');
  const file = join(folder, 'floor.db');
  const db = new Sqlite(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec(
    'CREATE TABLE rows (id TEXT PRIMARY KEY, committed INTEGER, body TEXT); CREATE TABLE at (cursor TEXT)',
  );
  db.prepare('INSERT INTO at VALUES (NULL)').run();
  const upsert = db.prepare(
    'INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET committed = excluded.committed, body = excluded.body',
  );
  const saveCursor = db.prepare('UPDATE at SET cursor = ?');
  let cursor: string | null = null;
  const page = async (): Promise<boolean> => {
    const url = `${sandbox.url}/investments?company_id=${company.id}&per_page=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${company.token}` } });
    const { data, meta } = (await response.json()) as {
      data: { id: string; amounts?: { committed_cents: number } }[];
      meta: { has_more: boolean; next_cursor: string };
    };
    db.transaction(() => {
      for (const record of data)
        upsert.run(record.id, record.amounts?.committed_cents ?? null, JSON.stringify(record));
      saveCursor.run(meta.next_cursor);
    })();
    cursor = meta.next_cursor;
    return meta.has_more;
  };
  while (await page());
  let secret = '';
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, t = '', v1 = ''] =
        /^t=(\d+),v1=([0-9a-f]{64})/.exec(String(request.headers['service-signature'])) ?? [];
      const own = createHmac('sha256', secret).update(`${t}.`).update(Buffer.concat(chunks)).digest();
      response.writeHead(timingSafeEqual(own, Buffer.from(v1, 'hex')) ? 202 : 401).end();
      void page();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  secret = await register(sandbox, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const reader = reading(file, 'SELECT committed FROM rows WHERE id = ?');
  const ids = db.prepare<[], string>('SELECT id FROM rows LIMIT 200').pluck().all();
  return {
    ...{ name: 'floor', sandbox, ids, committed: reader.read },
    close: async () => {
      reader.close();
      server.closeAllConnections();
      server.close();
      await sandbox.close();
      db.close();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function measure({ sandbox, ids, committed }: Follower, turn: number): Promise<number> {
  const id = ids[turn % ids.length] ?? '';
  const cents = 1_000_000 + turn * 100;
  const began = performance.now();
  const asked = fetch(`${sandbox.ready.control}/investments/${id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amounts: { committed_cents: cents } }),
  });
  while (committed(id) !== cents) {
    if (performance.now() - began > 10_000) throw new Error('a change did not arrive within ten seconds');
    await new Promise((resolve) => setImmediate(resolve));
  }
  const took = performance.now() - began;
  await (await asked).text();
  return took;
}

const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ] ?? Number.NaN;

const followers = [await floorFollower(), await daemonFollower()];
const took = new Map(followers.map(({ name }) => [name, [] as number[]]));
for (let turn = 0; turn < warmUp + changes; turn += 1) {
  for (const follower of followers) {
    const millis = await measure(follower, turn);
    if (turn >= warmUp) took.get(follower.name)?.push(millis);
  }
}
for (const follower of followers) await follower.close();
rmSync(folder, { recursive: true, force: true });

const floor = took.get('floor') ?? [];
console.log(
  `webhook to visible row, ${changes} changes each, in turns; ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
);
for (const [name, millis] of took) {
  const row = [0.5, 0.99].map((share) => quantile(millis, share));
  const ratios = [0.5, 0.99].map((share, at) => (row[at] ?? 0) / quantile(floor, share));
  console.log(
    `${name.padEnd(8)} median ${row[0]?.toFixed(2)} ms (${ratios[0]?.toFixed(2)} × floor)   p99 ${row[1]?.toFixed(2)} ms (${ratios[1]?.toFixed(2)} × floor)`,
  );
}
