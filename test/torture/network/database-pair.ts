import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../../src/runtime/clock.js';
import { type Binaries, clusterOptions, findBinaries } from '../../postgres/binaries.js';
import type { Network } from './network.js';
import { type Database, databases } from './plan.js';

/*
 * A primary and a streaming replica. The director reaches both through Unix sockets, which no cut of the network
 * touches.
 */

export interface PairParts {
  readonly network: Network;
  /** A folder that every user may enter. */
  readonly folder: string;
  readonly password: string;
  /** True when a commit waits for the replica. */
  readonly synchronous: boolean;
  readonly onProcess: (pid: number) => void;
  readonly log: (host: Database, text: string) => void;
}

const name = 'mirror';
const settings = [
  ...['fsync=off', 'listen_addresses=*', 'max_connections=200', 'wal_keep_size=256MB', 'max_wal_senders=10'],
  ...[
    'wal_receiver_timeout=3s',
    'wal_sender_timeout=3s',
    'wal_retrieve_retry_interval=200ms',
    'log_min_messages=warning',
  ],
];
const access = [
  'local all all trust',
  'local replication all trust',
  'host all all all scram-sha-256',
  'host replication all all scram-sha-256',
];

export class DatabasePair {
  primary: Database = 'd1';
  readonly #parts: PairParts;
  readonly #binaries: Binaries;
  readonly #servers = new Map<Database, ChildProcess>();

  private constructor(parts: PairParts, binaries: Binaries) {
    this.#parts = parts;
    this.#binaries = binaries;
  }

  static async start(parts: PairParts): Promise<DatabasePair> {
    const pair = new DatabasePair(parts, findBinaries());
    pair.#makeCluster();
    await pair.#start('d1');
    await pair.query('d1', `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`, 'postgres');
    // Before the copy is made, so that a promoted replica waits for its own replica, too.
    if (parts.synchronous) {
      await pair.query('d1', "ALTER SYSTEM SET synchronous_standby_names = 'd1, d2'");
      await pair.query('d1', 'SELECT pg_reload_conf()');
    }
    await pair.makeReplica();
    return pair;
  }

  get replica(): Database {
    return this.primary === 'd1' ? 'd2' : 'd1';
  }

  /** For the director only. */
  url(host: Database = this.primary, database = name): string {
    const { port } = this.#parts.network.address(host, 'database');
    return `postgres://postgres@localhost:${port}/${database}?host=${encodeURIComponent(this.#sockets(host))}`;
  }

  async query<Row extends object>(host: Database, sql: string, database = name): Promise<Row[]> {
    const client = new pg.Client({
      connectionString: this.url(host, database),
      connectionTimeoutMillis: 5_000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** Copies the primary's files to the other host and starts a replica there. */
  async makeReplica(): Promise<void> {
    const { primary, replica } = this;
    await this.kill(replica);
    const [from, to] = [this.#data(primary), this.#data(replica)];
    rmSync(to, { recursive: true, force: true });
    const client = new pg.Client({ connectionString: this.url(primary, 'postgres') });
    client.on('error', () => {});
    await client.connect();
    try {
      await client.query("SELECT pg_backup_start('replica', true)");
      // Files may vanish while they are copied; the write-ahead log knows of it.
      spawnSync('cp', ['-a', from, to], { stdio: 'ignore' });
      for (const left of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, left), { force: true });
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      );
      writeFileSync(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
      // The log that the copy needs to become consistent was written before the end of the backup.
      cpSync(join(from, 'pg_wal'), join(to, 'pg_wal'), { recursive: true, force: true });
      writeFileSync(join(to, 'standby.signal'), '');
    } finally {
      await client.end();
    }
    for (const path of ['backup_label', 'standby.signal', 'pg_wal']) this.#own(join(to, path));
    await this.#start(replica);
  }

  /** Ends a server as a power cut of its machine would end the process. */
  async kill(host: Database): Promise<void> {
    const child = this.#servers.get(host);
    this.#servers.delete(host);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async restart(host: Database): Promise<void> {
    await this.kill(host);
    await this.#start(host);
  }

  /** True when the primary says that the replica has received what it commits. */
  async isFollowing(): Promise<boolean> {
    const state = this.#parts.synchronous ? "AND sync_state = 'sync'" : '';
    const rows = await this.query(
      this.primary,
      `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' ${state}`,
      'postgres',
    ).catch(() => []);
    return rows.length > 0;
  }

  /** The replica becomes the primary; the former one has to be dead or out of reach. */
  async promote(): Promise<void> {
    const { replica } = this;
    await this.query(replica, 'SELECT pg_promote(true, 300)', 'postgres');
    this.primary = replica;
  }

  async close(): Promise<void> {
    for (const host of databases) await this.kill(host);
    if (this.#binaries.copy !== null) rmSync(this.#binaries.copy, { recursive: true, force: true });
  }

  #data = (host: Database) => join(this.#parts.folder, host);
  #sockets = (host: Database) => join(this.#parts.folder, `sockets-${host}`);

  #own(path: string): void {
    const { uid, gid } = this.#binaries.owner;
    if (uid !== undefined && gid !== undefined) spawnSync('chown', ['-R', `${uid}:${gid}`, path]);
  }

  #makeCluster(): void {
    const { owner, initdb } = this.#binaries;
    const [data, secret] = [this.#data('d1'), join(this.#parts.folder, 'password')];
    for (const folder of [data, ...databases.map(this.#sockets)]) {
      mkdirSync(folder, { mode: 0o700 });
      this.#own(folder);
    }
    writeFileSync(secret, this.#parts.password, { mode: 0o600 });
    if (owner.uid !== undefined && owner.gid !== undefined) chownSync(secret, owner.uid, owner.gid);
    const { status, stderr } = spawnSync(
      initdb,
      [
        '-D',
        data,
        '-U',
        'postgres',
        '-A',
        'scram-sha-256',
        `--pwfile=${secret}`,
        '--no-sync',
        '--wal-segsize=4',
        ...clusterOptions(this.#binaries),
      ],
      { ...owner, cwd: '/', encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
    writeFileSync(join(data, 'pg_hba.conf'), `${access.join('\n')}\n`);
    rmSync(secret);
  }

  /** A killed server leaves processes that end within moments, and the next one refuses to start beside them. */
  async #start(host: Database): Promise<void> {
    for (let tries = 0; ; tries += 1)
      try {
        return await this.#startOnce(host);
      } catch (error) {
        if (tries === 300) throw error;
        await systemClock.wait(200);
      }
  }

  async #startOnce(host: Database): Promise<void> {
    const { network, password, log, onProcess } = this.#parts;
    const other = host === 'd1' ? 'd2' : 'd1';
    const primary = network.address(other, 'database');
    const flags = [
      ...settings,
      `port=${network.address(host, 'database').port}`,
      `unix_socket_directories=${this.#sockets(host)}`,
      `primary_conninfo=host=${primary.host} port=${primary.port} user=postgres password=${password} application_name=${host} connect_timeout=2`,
    ].flatMap((setting) => ['-c', setting]);
    const { owner, postgres } = this.#binaries;
    const asOwner =
      network.kind === 'namespaces' && owner.uid !== undefined
        ? ['setpriv', '--reuid', String(owner.uid), '--regid', String(owner.gid), '--clear-groups']
        : [];
    const [program = '', ...args] = network.on(host, [
      ...asOwner,
      postgres,
      '-D',
      this.#data(host),
      ...flags,
    ]);
    const child = spawn(program, args, {
      ...(asOwner.length === 0 ? owner : {}),
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    if (child.pid !== undefined) onProcess(child.pid);
    let over = false;
    child.on('exit', () => {
      over = true;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => log(host, text));
    const begun = systemClock.monotonic();
    for (;;) {
      if (over) throw new Error(`PostgreSQL on ${host} ended at its start`);
      const there = await this.query(host, 'SELECT 1', 'postgres').then(
        () => true,
        () => false,
      );
      if (there) break;
      if (systemClock.monotonic() - begun > 120_000) {
        child.kill('SIGKILL');
        throw new Error(`PostgreSQL on ${host} does not start`);
      }
      await systemClock.wait(50);
    }
    this.#servers.set(host, child);
  }
}
