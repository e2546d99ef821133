import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { all } from '../../src/platform/state/statements.js';
import { noPrograms, type OutsidePrograms } from '../judges/outside-programs.js';
import { freePort } from '../support/free-port.js';
import { askPlatform } from './ask-platform.js';
import { Deadline } from './deadline.js';
import { FeedHistory, type Sent } from './history.js';
import { type Life, type LifeOptions, type Program, startLife } from './life.js';
import { postgresStorage } from './storage/postgres-storage.js';
import { sqliteStorage } from './storage/sqlite-storage.js';
import type { Sight, Storage } from './storage/storage.js';
import { Violation } from './violation.js';

/** A platform that lasts, and the folder of daemons that do not. */
export interface Place {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly storage: Storage;
  readonly hook: { readonly url: string; readonly secret: string };
  readonly programs: OutsidePrograms;
  /** Starts `rosterd` with these arguments in this folder. */
  rosterd(args: readonly string[], options?: Pick<LifeOptions, 'stop' | 'pagesMax' | 'configuration'>): Life;
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
  /** Ids of the deliveries that the present mirror may hold, and of those that it was answered with a 2xx for. */
  deliveries(): Sent;
  /** Notes a delivery that the platform knows nothing of. */
  sends(eventId: string): void;
  /** What readers of the present mirror read. */
  feed(): FeedHistory;
  /** Reads the mirror while a daemon has it open. */
  look<Result>(work: (sight: Sight) => Promise<Result>): Promise<Result>;
  /** Deletes the mirror, including its accepted events, before the next daemon starts. */
  forgetEverything(): Promise<void>;
  close(): Promise<void>;
}

/** The configuration of a second daemon, whose port the first has. */
export const withoutReceiver = 'without-receiver.json';

/** A mirror of the same platform in a file of this folder that no daemon uses, and the configuration that names it. */
export const afresh = { configuration: 'afresh.json', file: 'afresh.db' };

export interface PlaceOptions {
  readonly program: Program;
  readonly records: number;
  readonly perPage?: number;
  /** The address of a server for the mirror; without it, the mirror is a file in this folder or in the place's own. */
  readonly server?: string | null;
  readonly base?: string;
  readonly tablespace?: string;
  readonly programs?: OutsidePrograms;
}

export async function openLocation({
  program,
  records,
  perPage = 100,
  server = null,
  base = tmpdir(),
  tablespace,
  programs = noPrograms,
}: PlaceOptions): Promise<Place> {
  const sandbox = await startSandbox({ seed: 7, companies: 1, records, limits: false });
  const folder = mkdtempSync(join(base, 'rosterd-torture-'));
  const storage =
    server === null
      ? sqliteStorage(join(folder, 'mirror.db'))
      : await postgresStorage(server, { tablespace, pgAmcheck: programs.pgAmcheck });
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
    database: storage.setting,
    sources: [
      { name: 'acme', token: { env: 'TOKEN' }, company: company.id, installation: company.installation },
    ],
    // Only a start and a webhook cause a tick, so a timer cannot hide a fault.
    sync: { intervalSeconds: 3_600, perPage },
    receiver: { listen: `127.0.0.1:${port}`, secrets: [{ env: 'HOOK' }] },
    console: null,
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, withoutReceiver), JSON.stringify({ ...config, receiver: null }));
  const database = `sqlite:${afresh.file}`;
  writeFileSync(join(folder, afresh.configuration), JSON.stringify({ ...config, database, receiver: null }));
  const env = { TOKEN: company.token, HOOK: secret };
  const forgiven = new Set<string>();
  const byHand = new Set<string>();
  let feed = new FeedHistory();
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
    const deadline = new Deadline([]);
    while (outlived()) {
      if (deadline.over) throw new Violation('a child of a dead daemon keeps running');
      await deadline.turn();
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
  const sent = () =>
    all<{ id: string }>(
      sandbox.services.state,
      'SELECT DISTINCT event_id AS id FROM webhook_deliveries',
      [],
    ).map(({ id }) => id);
  return {
    sandbox,
    folder,
    storage,
    look: storage.look,
    hook: { url, secret },
    programs,
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
    deliveries: () => ({ accepted: accepted(), sent: [...sent(), ...byHand] }),
    sends: (eventId) => void byHand.add(eventId),
    feed: () => feed,
    forgetEverything: async () => {
      await deserted();
      for (const id of accepted()) forgiven.add(id);
      feed = new FeedHistory();
      await storage.forget();
    },
    close: async () => {
      await killAll();
      await deserted();
      await sandbox.close();
      await storage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
