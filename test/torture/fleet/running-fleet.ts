import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Sandbox, startSandbox } from '../../../src/platform/sandbox/sandbox.js';
import { all } from '../../../src/platform/state/statements.js';
import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import { migratePostgres } from '../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { installAudit } from '../../postgres/fence-audit.js';
import { freePort } from '../../support/free-port.js';
import type { Sent } from '../history.js';
import { type Life, type Program, startLife } from '../life.js';
import type { Stop } from '../steps.js';
import { type Front, openFront } from './front.js';

/** `name` is the application name of its database connections. */
export type FleetLife = Life & { readonly name: string };

export interface RunningFleet {
  readonly sandbox: Sandbox;
  readonly url: string;
  readonly hosts: number;
  /** Starts a new process on one of the hosts; it may send itself a signal at some step. */
  start(host: number, stop?: Stop): FleetLife;
  churn(changes: number): Promise<void>;
  rows<Row extends object>(sql: string): Promise<readonly Row[]>;
  /** Ids of the deliveries that the platform sent, and of those that it got a 2xx for. */
  deliveries(): Sent;
  close(): Promise<void>;
}

export interface RunningFleetOptions {
  /** An empty database. */
  readonly url: string;
  readonly program: Program;
  readonly random: Random;
  readonly companies: number;
  readonly records: number;
  /** How long the platform takes to answer a page: most stops then happen in the middle of one. */
  readonly pageMillis: number;
}

const hosts = 3;

export async function startFleet(options: RunningFleetOptions): Promise<RunningFleet> {
  const { url, program, random, companies, records, pageMillis } = options;
  const database = await openPostgres(url, { max: 1 });
  await migratePostgres(database, { clock: systemClock, version: '0.0.0-torture' });
  await database.close();
  await installAudit(url);
  const sandbox = await startSandbox({ seed: 7, companies, records, limits: false });
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-fleet-'));
  const ports: number[] = [];
  for (let host = 0; host < hosts; host += 1) ports.push(await freePort());
  const front: Front = await openFront(ports, random);
  const control = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(`${sandbox.ready.control}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return await answer.json();
  };
  const hook = await control('/webhooks', { url: front.url, events: ['investment.changed'] });
  const { secret } = hook as { secret: string };
  await control('/faults', [
    { method: 'GET', path: '/investments', times: 1_000_000, action: { delayMs: pageMillis } },
  ]);
  const idsOf = (sql: string) => all<{ id: string }>(sandbox.services.state, sql, []).map(({ id }) => id);
  // The judges look several times a second, and a new session reads the catalogs anew.
  const readers = new pg.Pool({ connectionString: url, max: 4 });
  readers.on('error', () => {});
  let lives = 0;
  return {
    sandbox,
    url,
    hosts,
    start: (host, stop) => {
      lives += 1;
      const name = `life-${lives}`;
      const home = join(folder, name);
      mkdirSync(home);
      const named = new URL(url);
      named.searchParams.set('application_name', name);
      const config = {
        platform: { baseUrl: sandbox.url, requestsPerHour: 1_000_000 },
        database: named.href,
        sources: sandbox.ready.companies.map((company, n) => ({
          name: `c${n}`,
          token: company.token,
          company: company.id,
          installation: company.installation,
        })),
        // Only a start, a takeover and a webhook cause a tick, so a timer cannot hide a fault.
        sync: { intervalSeconds: 3_600 },
        receiver: { listen: `127.0.0.1:${ports[host]}`, secrets: [{ env: 'HOOK' }] },
        console: null,
      };
      writeFileSync(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
      const options = { program, folder: home, env: { HOOK: secret } };
      return Object.assign(startLife(['run'], stop === undefined ? options : { ...options, stop }), { name });
    },
    churn: async (changes) => void (await control('/churn', { changes })),
    rows: async <Row extends object>(sql: string) => (await readers.query<Row>(sql)).rows,
    deliveries: () => ({
      accepted: idsOf(
        `SELECT DISTINCT d.event_id AS id FROM webhook_attempts a JOIN webhook_deliveries d ON d.no = a.delivery_no
         WHERE a.status BETWEEN 200 AND 299`,
      ),
      sent: idsOf('SELECT DISTINCT event_id AS id FROM webhook_deliveries'),
    }),
    close: async () => {
      await readers.end();
      await front.close();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
