import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { urlOf } from '../../postgres/run-databases.js';
import { type PostgresServer, startPostgres } from '../../postgres/server.js';
import { freePort } from '../../support/free-port.js';
import { Counted } from './ledger.js';
import {
  memoryOf,
  type Pace,
  processorSecondsOf,
  type Running,
  realTime,
  type SandboxProcess,
  startRosterd,
  startSandboxProcess,
} from './processes.js';

export interface CrowdOptions {
  readonly companies: number;
  readonly records: number;
  readonly seed: number;
  /** Records of the company that installs the application while the others work. */
  readonly newcomer: number;
  /** Whether companies, rounds and posts are read, too. */
  readonly catalog: boolean;
}

/** One daemon, with the addresses of its console and receiver. */
export interface Host {
  readonly running: Running;
  readonly console: string;
  readonly receiver: string;
  readonly startedAt: number;
}

export const newcomerId = 'co_newcomer';

/** A sandbox, a PostgreSQL server and daemons as processes, in one temporary folder. */
export class Crowd {
  readonly counted = new Counted();
  readonly hosts: Host[] = [];
  pace: Pace = realTime;
  sandbox: SandboxProcess;
  readonly #key: string;
  readonly #ports: number[] = [];
  #hook = '';
  #counting: Promise<void> = Promise.resolve();
  #ended = false;

  private constructor(
    readonly options: CrowdOptions,
    readonly server: PostgresServer,
    readonly url: string,
    readonly database: pg.Client,
    readonly sandboxPort: number,
    sandbox: SandboxProcess,
    readonly postgresPid: number,
    readonly folder: string,
  ) {
    this.sandbox = sandbox;
    const random = seededRandom(options.seed);
    this.#key = Buffer.from(Array.from({ length: 32 }, () => Math.floor(256 * random.fraction()))).toString(
      'base64',
    );
  }

  static async start(options: CrowdOptions, limits: boolean, pace: Pace): Promise<Crowd> {
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-crowd-'));
    const server = await startPostgres();
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query('CREATE DATABASE crowd');
    await admin.end();
    const url = urlOf(server.url, 'crowd');
    const database = new pg.Client({ connectionString: url });
    database.on('error', () => {});
    await database.connect();
    const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const parent = /PPid:\s+(\d+)/.exec(readFileSync(`/proc/${rows[0]?.pid}/status`, 'utf8'))?.[1];
    writeFileSync(join(folder, 'world.jsonl'), worldOf(options));
    const port = await freePort();
    const sandbox = await startSandboxProcess(sandboxOptions(options, folder, port, limits), pace);
    const crowd = new Crowd(options, server, url, database, port, sandbox, Number(parent), folder);
    crowd.pace = pace;
    crowd.#writeSignIn();
    crowd.#count();
    return crowd;
  }

  /** Restarts the sandbox on its data, with or without limits, in another pace. No daemon may run. */
  async restartSandbox(limits: boolean, pace: Pace): Promise<void> {
    this.#ended = true;
    await this.#counting;
    await this.sandbox.stop();
    this.pace = pace;
    this.sandbox = await startSandboxProcess(
      sandboxOptions(this.options, this.folder, this.sandboxPort, limits),
      pace,
    );
    this.#ended = false;
    this.counted.forget();
    this.#writeSignIn();
    this.#count();
  }

  /** Starts daemon number `no`; its addresses stay the same when it starts again. */
  async startHost(no: number, limits: boolean): Promise<Host> {
    while (this.#ports.length < 2 * no + 2) this.#ports.push(await freePort());
    const [console = 0, receiver = 0] = this.#ports.slice(2 * no);
    if (this.#hook === '') {
      const url = `http://127.0.0.1:${receiver}/webhooks`;
      const events = ['investment.changed', 'installation.created', 'installation.revoked'];
      const made = await this.sandbox.control<{ secret: string }>('/webhooks', { url, events });
      this.#hook = made.secret;
    }
    const file = join(this.folder, `host-${no}.json`);
    writeFileSync(
      file,
      JSON.stringify({
        platform: {
          baseUrl: this.sandbox.ready.baseUrl,
          ...(limits ? {} : { requestsPerHour: null }),
        },
        database: this.url,
        sources: [
          {
            follow: 'installations',
            rule: 'crm',
            credentials: {
              file: join(this.folder, 'manager.json'),
              clientId: this.sandbox.ready.apps[0]?.clientId,
              clientSecret: { env: 'CLIENT_SECRET' },
            },
          },
        ],
        ...(this.options.catalog ? {} : { sync: { catalogIntervalSeconds: null } }),
        vault: { keys: [{ env: 'VAULT_KEY' }] },
        receiver: { listen: `127.0.0.1:${receiver}`, secrets: [{ env: 'HOOK' }] },
        console: { listen: `127.0.0.1:${console}` },
      }),
      { mode: 0o600 },
    );
    const env = {
      VAULT_KEY: this.#key,
      HOOK: this.#hook,
      CLIENT_SECRET: this.sandbox.ready.apps[0]?.clientSecret ?? '',
    };
    const host = {
      running: startRosterd(['run', '--config', file, '--log-level', 'warn'], env, this.pace),
      console: `http://127.0.0.1:${console}`,
      receiver: `http://127.0.0.1:${receiver}`,
      startedAt: systemClock.monotonic(),
    };
    this.hosts[no] = host;
    return host;
  }

  /** Runs a command of rosterd with the configuration of the first host. */
  async command(...args: readonly string[]): Promise<void> {
    const env = { VAULT_KEY: this.#key, HOOK: this.#hook, CLIENT_SECRET: 'x' };
    const running = startRosterd([...args, '--config', join(this.folder, 'host-0.json')], env, realTime);
    await running.stop('SIGCONT');
    if (running.child.exitCode !== 0 && running.child.exitCode !== 1) throw new Error(running.said());
  }

  async query<Row extends pg.QueryResultRow>(sql: string, ...values: readonly unknown[]): Promise<Row[]> {
    return (await this.database.query<Row>(sql, [...values])).rows;
  }

  /** How many sources each member of the fleet holds, most first. */
  async shares(): Promise<readonly number[]> {
    const rows = await this.query<{ holds: number }>(
      'SELECT count(*)::int AS holds FROM fleet_sources GROUP BY member ORDER BY 1 DESC',
    );
    return rows.map(({ holds }) => holds);
  }

  /** Waits until `ready` returns true. Returns the real milliseconds it took. */
  async until(
    what: string,
    ready: () => Promise<boolean>,
    mostMillis = 1_200_000,
    everyMillis = 100,
  ): Promise<number> {
    const begun = systemClock.monotonic();
    while (!(await ready())) {
      for (const { running } of this.#living())
        if (running.child.exitCode !== null)
          throw new Error(`a daemon ended: ${running.said().slice(-2_000)}`);
      if (systemClock.monotonic() - begun > mostMillis)
        throw new Error(`not within ${mostMillis} ms: ${what}`);
      await systemClock.wait(everyMillis);
    }
    return systemClock.monotonic() - begun;
  }

  memory(): string {
    const hosts = this.#living().map(({ running }) => memoryOf(running.pid));
    const megabytes = (value: number) => `${Math.round(value)}`;
    return `daemons ${hosts.map(({ now }) => megabytes(now)).join(', ')} MB (highest ${hosts
      .map(({ peak }) => megabytes(peak))
      .join(
        ', ',
      )}), PostgreSQL ${megabytes(this.#postgresMegabytes())} MB, sandbox ${megabytes(memoryOf(this.sandbox.pid).now)} MB`;
  }

  processorSeconds(): readonly number[] {
    return this.#living().map(({ running }) => processorSecondsOf(running.pid));
  }

  /** What the server and its connections have for themselves, with their part of shared pages. */
  #postgresMegabytes(): number {
    const children = readFileSync(`/proc/${this.postgresPid}/task/${this.postgresPid}/children`, 'utf8');
    const pids = [this.postgresPid, ...children.trim().split(' ').map(Number)];
    let kilobytes = 0;
    for (const pid of pids)
      try {
        const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
        kilobytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
      } catch {
        // A connection that has just ended.
      }
    return kilobytes / 1024;
  }

  /** Kills a host. Its number is free for another one. */
  async kill(no: number): Promise<void> {
    await this.hosts[no]?.running.stop('SIGKILL');
    delete this.hosts[no];
  }

  async stopHosts(): Promise<void> {
    await Promise.all(this.#living().map(({ running }) => running.stop()));
    this.hosts.length = 0;
  }

  async close(): Promise<void> {
    this.#ended = true;
    await this.#counting;
    await this.stopHosts();
    await this.sandbox.stop();
    await this.database.end();
    await this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #living(): readonly Host[] {
    return this.hosts.filter((host) => host !== undefined);
  }

  #count(): void {
    const { sandbox } = this;
    const read = async () => {
      while (!this.#ended) {
        await this.counted.read((path) => sandbox.control(path));
        await systemClock.wait(1_000);
      }
    };
    this.#counting = read();
  }

  /** The sign-in of a manager of the application. */
  #writeSignIn(): void {
    const { apps, users } = this.sandbox.ready;
    const [app] = apps;
    const [owner] = users;
    if (app === undefined || owner === undefined) throw new Error('a sandbox without an owner');
    writeFileSync(
      join(this.folder, 'manager.json'),
      JSON.stringify({
        clientId: app.clientId,
        clientSecret: app.clientSecret,
        accessToken: owner.token,
        refreshToken: owner.refreshToken,
        previousRefreshToken: null,
        expiresAt: null,
        scope: 'read:installations write:installations',
      }),
      { mode: 0o600 },
    );
  }
}

function sandboxOptions(
  { companies, records, seed }: CrowdOptions,
  folder: string,
  port: number,
  limits: boolean,
) {
  return {
    port,
    data: join(folder, 'world.db'),
    companies,
    records,
    seed,
    importFile: join(folder, 'world.jsonl'),
    limits,
  };
}

/** The newcomer, a company with many records. */
function worldOf({ newcomer, seed }: CrowdOptions): string {
  const random = seededRandom(seed);
  const lines: object[] = [
    { type: 'company', id: newcomerId, name: 'Newcomer' },
    { type: 'offering', id: 'ofr_newcomer', company: newcomerId },
  ];
  for (let n = 0; n < newcomer; n += 1) {
    const email = `n${n}@people.example`;
    const cents = 1 + Math.floor(random.fraction() * 1_000_000);
    lines.push({
      type: 'investment',
      offering: 'ofr_newcomer',
      amounts: { committed_cents: cents },
      investor: { email, name: `Newcomer ${n}` },
    });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
