import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { configFrom } from '../../src/config/config-from.js';
import { sqliteFileOf } from '../../src/config/database.js';
import { Secret } from '../../src/config/secrets.js';
import { settingsSchema } from '../../src/config/settings.js';
import type { Daemon } from '../../src/daemon/daemon.js';
import type { EngineParts } from '../../src/daemon/engine.js';
import type { Sandbox, SandboxOptions } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { testRandom } from '../support/chance.js';
import { placeMigrated } from '../support/migrated-file.js';
import { openRaw } from '../support/open-raw.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';

/** Starts a seeded platform on a free port; closed at the end of the test. */
export async function sandboxFor(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSeededSandbox({ records: 300, companies: 3, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-daemon-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface ConfigWish {
  readonly folder: string;
  readonly intervalSeconds?: number;
  /** Default: a file in the folder. */
  readonly database?: string;
  readonly receiver?: { readonly port: number; readonly secret: string };
}

/**
 * Returns a configuration with every company of the sandbox as a source of one mirror. Puts an empty, migrated mirror
 * into the folder unless the wish names another database.
 */
export function configFor({ ready }: Pick<Sandbox, 'ready'>, wish: ConfigWish): Config {
  if (wish.database === undefined) placeMigrated(join(wish.folder, 'mirror.db'));
  const config = configFrom(
    settingsSchema.parse({
      platform: { baseUrl: ready.baseUrl },
      database: wish.database ?? 'sqlite:mirror.db',
      sources: ready.companies.map((company, index) => ({
        name: `c${index}`,
        token: company.token,
        company: company.id,
        installation: company.installation,
      })),
      sync: { intervalSeconds: wish.intervalSeconds ?? 3_600 },
      console: { listen: '127.0.0.1:0' },
      receiver:
        wish.receiver === undefined
          ? null
          : { listen: `127.0.0.1:${wish.receiver.port}`, secrets: [{ env: 'UNUSED' }] },
    }),
    { env: {}, folderOf: () => wish.folder },
  );
  if (config.receiver === null || wish.receiver === undefined) return config;
  const secret = new Secret('receiver.secrets[0]', wish.receiver.secret, { env: {}, folder: wish.folder });
  return { ...config, receiver: { ...config.receiver, secrets: [secret] } };
}

/** Resolves at the end of a webhook tick that changed something. */
export function webhookTick({ engine }: Daemon): Promise<void> {
  return new Promise((resolve) => {
    const off = engine.sync.onTick((_source, { report }) => {
      const { added, changed, removed } = report.applied;
      if (report.trigger !== 'webhook' || added + changed + removed === 0) return;
      off();
      resolve();
    });
  });
}

export function partsFor(config: Config): EngineParts {
  return { config, clock: systemClock, random: testRandom(), logger: silentLogger };
}

/** Opens a connection like an analyst's program. */
export function readerOf(config: Config): Sqlite.Database {
  const reader = openRaw(sqliteFileOf(config.database), { readonly: true });
  onTestFinished(() => {
    reader.close();
  });
  return reader;
}

export interface Totals {
  readonly source: string;
  readonly count: number;
  readonly raised: number;
}

/** Returns the platform's records, paged by hand through the public API. */
export async function totalsByHand({ ready }: Sandbox): Promise<Totals[]> {
  return await Promise.all(
    ready.companies.map(async (company, index) => {
      let count = 0;
      let raised = 0;
      let cursor: string | null = null;
      for (let more = true; more; ) {
        const url = new URL('/investments', ready.baseUrl);
        url.searchParams.set('company_id', company.id);
        url.searchParams.set('per_page', '100');
        if (cursor !== null) url.searchParams.set('cursor', cursor);
        const response = await fetch(url, { headers: { authorization: `Bearer ${company.token}` } });
        const page = (await response.json()) as {
          data: { amounts: { raised_cents: number } }[];
          meta: { has_more: boolean; next_cursor: string };
        };
        count += page.data.length;
        raised += page.data.reduce((sum, record) => sum + record.amounts.raised_cents, 0);
        cursor = page.meta.next_cursor;
        more = page.meta.has_more;
      }
      return { source: `c${index}`, count, raised };
    }),
  );
}

export function totalsHeld(reader: Sqlite.Database): Totals[] {
  return reader
    .prepare<[], Totals>(
      'SELECT source, count(*) AS count, sum(raised_cents) AS raised FROM investments GROUP BY 1 ORDER BY 1',
    )
    .all();
}

export async function control(
  { ready }: Sandbox,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const response = await fetch(`${ready.control}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`);
  return await response.json();
}
