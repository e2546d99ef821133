import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { type Sandbox, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { all } from '../../src/platform/state/statements.js';
import { freePort } from '../support/free-port.js';
import { askPlatform } from './ask-platform.js';
import { type Life, type LifeOptions, type Program, startLife } from './life.js';
import { Patience } from './patience.js';
import { Violation } from './violation.js';

/** A platform that lasts, and the folder of daemons that do not. */
export interface Place {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly file: string;
  readonly hook: { readonly url: string; readonly secret: string };
  /** Starts `rosterd` with these arguments in this folder. */
  rosterd(args: readonly string[], options?: Pick<LifeOptions, 'stop' | 'pagesMax' | 'outlast'>): Life;
  /** Its processes that have not ended. */
  living(): readonly Life[];
  /** Returns whether a child of a dead daemon still uses the database. */
  outlived(): boolean;
  /** Resolves when no process has the database open. */
  deserted(): Promise<void>;
  /**
   * Ends every process that still runs or sleeps, so that the next round finds its port and its database free.
   */
  killAll(): Promise<void>;
  /** Makes this many changes on the platform, each with its webhook. */
  churn(changes: number): Promise<void>;
  /** Ids of the events that the platform got a 2xx for. */
  accepted(): string[];
  /** Reads the mirror while a daemon has it open. */
  look<Result>(work: (database: Sqlite.Database) => Result): Result;
  /**
   * Reads a copy of what a dead daemon left, so that the next one finds the original unchanged; null if there is
   * nothing.
   */
  lookAtRemains<Result>(work: (database: Sqlite.Database) => Result): Result | null;
  /**
   * Deletes the database, including its accepted events, before the next daemon starts. No process may have it
   * open: SQLite guarantees nothing about a file that is deleted while in use.
   */
  forgetEverything(): Promise<void>;
  close(): Promise<void>;
}

export interface PlaceOptions {
  readonly program: Program;
  readonly records: number;
  readonly perPage?: number;
}

export async function openLocation({ program, records, perPage = 100 }: PlaceOptions): Promise<Place> {
  const sandbox = await startSandbox({ seed: 7, companies: 1, records, limits: false });
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-torture-'));
  const file = join(folder, 'mirror.db');
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('the sandbox has no company');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const control = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await askPlatform(`${sandbox.ready.control}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return await answer.json();
  };
  const { secret } = (await control('/webhooks', { url, events: ['investment.changed'] })) as {
    secret: string;
  };
  const config = {
    platform: { baseUrl: sandbox.url, requestsPerHour: 1_000_000 },
    database: 'sqlite:./mirror.db',
    sources: [
      { name: 'acme', token: { env: 'TOKEN' }, company: company.id, installation: company.installation },
    ],
    // Only a start and a webhook cause a tick, so a timer cannot hide a fault.
    sync: { intervalSeconds: 3_600, perPage },
    receiver: { listen: `127.0.0.1:${port}`, secrets: [{ env: 'HOOK' }] },
    console: null,
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const env = { TOKEN: company.token, HOOK: secret };
  const forgiven = new Set<string>();
  /** Includes dead ones, until no child of theirs is running. */
  const lives = new Set<Life>();
  const living = () => [...lives].filter(({ over }) => !over);
  const killAll = async () => {
    const left = living();
    for (const life of left) life.kill('SIGKILL');
    await Promise.all(left.map(({ ended }) => ended));
  };
  const outlived = () => [...lives].some((life) => life.outlived);
  const deserted = async () => {
    const patience = new Patience([]);
    while (outlived()) {
      if (patience.over) throw new Violation('a child of a dead daemon keeps running');
      await patience.turn();
    }
    for (const life of lives) if (life.over) lives.delete(life);
  };
  const accepted = () =>
    all<{ id: string }>(
      sandbox.services.state,
      `SELECT DISTINCT d.event_id AS id FROM webhook_attempts a JOIN webhook_deliveries d ON d.no = a.delivery_no
       WHERE a.status BETWEEN 200 AND 299`,
      [],
    ).flatMap(({ id }) => (forgiven.has(id) ? [] : [id]));
  return {
    sandbox,
    folder,
    file,
    look: (work) => looking(file, { readonly: true }, work),
    lookAtRemains: (work) => {
      if (!existsSync(file)) return null;
      const copy = join(folder, 'remains');
      mkdirSync(copy, { recursive: true });
      for (const end of ['', '-wal'])
        if (existsSync(file + end)) cpSync(file + end, join(copy, `copy${end}`));
      try {
        return looking(join(copy, 'copy'), {}, work);
      } finally {
        rmSync(copy, { recursive: true });
      }
    },
    hook: { url, secret },
    rosterd: (args, options = {}) => {
      const life = startLife(args, { program, folder, env, ...options });
      lives.add(life);
      return life;
    },
    living,
    outlived,
    deserted,
    killAll,
    churn: async (changes) => void (await control('/churn', { changes })),
    accepted,
    forgetEverything: async () => {
      await deserted();
      for (const id of accepted()) forgiven.add(id);
      for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
    },
    close: async () => {
      await killAll();
      await deserted();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function looking<Result>(
  file: string,
  options: Sqlite.Options,
  work: (database: Sqlite.Database) => Result,
): Result {
  const database = new Sqlite(file, { fileMustExist: true, timeout: 5_000, ...options });
  try {
    return work(database);
  } finally {
    database.close();
  }
}
