import pg from 'pg';
import { Crash, type Watched } from '../database-watch.js';

interface Process extends Watched {
  readonly connections: Set<WatchedClient>;
  /** No process can reach the server meanwhile. */
  away: boolean;
  /** The number of writes its disk has room for; null if there is room for all. */
  writesLeft: number | null;
  /** The room that there is after each write that failed, so that any statement may be the one; null if there is none. */
  roomAfterFailure: number | null;
  /** Whether a commit since the last look may have changed what readers see. */
  changedMirror: boolean;
}

type Done = (error: Error | null | undefined, result?: unknown) => void;

const writes = /^\s*(?:INSERT|UPDATE|DELETE|WITH)\b/i;
/** The tables whose rows `PostgresReader.key` depends on. */
const mirrored =
  /\b(?:feed_counter|sources|sweeps|investment_rows|identities|awaiting_deletion|history_rows|staged_rows)\b/;
/** The only thing in a statement that asks the server for the time. */
const asksTime = /\bfleet_clock\b/;
const ends = /^\s*(?:COMMIT|ROLLBACK|END)\b/i;
const diskFull = "DO $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$";
const timeoutMillis = 120_000;

/** One connection, as the simulator that starts and ends its process sees it. */
class WatchedClient {
  open = true;
  inTransaction = false;
  /** The last time set in its session; null if that may have been rolled back. */
  told: number | null = null;
  /** Whether its transaction has written to a table of the mirror. */
  wroteMirror = false;

  constructor(readonly client: pg.Client) {
    client.once('end', () => {
      this.open = false;
    });
  }

  /** Statements are sent before the responses to earlier ones arrive. */
  get pipelined(): boolean {
    return (this.client as unknown as { pipeline: boolean }).pipeline;
  }

  /** Closes the connection as a dead process would: without a goodbye. */
  close(): void {
    this.open = false;
    (this.client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }

  /** A connection cannot set the disk size of a server. */
  pragma(): void {}
}

/**
 * Observes real connections to a real server. A connection belongs to the process whose number is in its
 * application name. The watch counts queries in flight so that virtual time stops until the server has answered,
 * kills a process between two statements, and sets the virtual time in every session before its next query.
 */
export class PostgresWatch {
  readonly #processes = new Map<string, Process>();
  readonly #known = new WeakMap<pg.Client, WatchedClient>();
  readonly #undo: () => void;
  #running = 0;
  #rest: (() => void)[] = [];

  /** The virtual time of the current run. */
  now: () => number = () => 0;

  constructor() {
    const { prototype } = pg.Client;
    const { query, connect, end } = prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    if (query === undefined || connect === undefined || end === undefined) throw new Error('pg has changed');
    const watch = this;
    const patched = {
      connect(this: pg.Client, callback?: Done) {
        const process = watch.#processOf(this);
        if (process === null) return connect.call(this, callback);
        return watch.#counted(process, callback, (done) => {
          if (process.dead) return;
          if (process.away)
            return done(Object.assign(new Error('nobody is there'), { code: 'ECONNREFUSED' }));
          const watched = new WatchedClient(this);
          watch.#known.set(this, watched);
          process.connections.add(watched);
          connect.call(this, done);
        });
      },
      query(this: pg.Client, config: unknown, values?: unknown, callback?: Done) {
        const process = watch.#processOf(this);
        const watched = watch.#known.get(this);
        if (
          process === null ||
          watched === undefined ||
          typeof (config as pg.Submittable).submit === 'function'
        )
          return query.call(this, config, values, callback);
        const given = typeof values === 'function' ? [] : values;
        const asked = typeof values === 'function' ? (values as Done) : callback;
        return watch.#counted(process, asked, (done) =>
          watch.#query(process, watched, config as string | pg.QueryConfig, given, done, (...args) =>
            query.call(this, ...args),
          ),
        );
      },
      end(this: pg.Client, callback?: Done) {
        const process = watch.#processOf(this);
        if (process === null) return end.call(this, callback);
        return watch.#counted(process, callback, (done) => {
          if (process.dead) return;
          // A pool does not wait for the last of its connections to say goodbye, and they are no longer in use.
          const watched = watch.#known.get(this);
          if (watched !== undefined) watched.open = false;
          end.call(this, done);
        });
      },
    };
    Object.assign(prototype, patched);
    this.#undo = () => void Object.assign(prototype, { query, connect, end });
  }

  undo(): void {
    this.#undo();
  }

  own(name: string, watched: Watched): Process {
    const process = Object.assign(watched, {
      connections: new Set<WatchedClient>(),
      away: false,
      writesLeft: null,
      roomAfterFailure: null,
      changedMirror: true,
    });
    this.#processes.set(name, process);
    return process;
  }

  of(name: string): Process | null {
    return this.#processes.get(name) ?? null;
  }

  /** Breaks all connections of a process. */
  cut(name: string): void {
    for (const one of this.of(name)?.connections ?? []) if (one.open) one.close();
  }

  /** Returns a promise for the server's work in flight, or null if there is none. */
  busy(): Promise<void> | null {
    if (this.#running === 0) return null;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the server never answers')), timeoutMillis);
      this.#rest.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #processOf(client: pg.Client): Process | null {
    const { application_name } = (
      client as unknown as { connectionParameters: { application_name?: string } }
    ).connectionParameters;
    return this.#processes.get(application_name ?? '') ?? null;
  }

  /** Counts the work while it lasts. A process that died meanwhile does not see its result. */
  #counted(
    process: Process,
    callback: Done | undefined,
    work: (done: Done) => void,
  ): Promise<unknown> | undefined {
    const start = (told: Done) => {
      this.#running += 1;
      let over = false;
      const leave = () => {
        if (over) return false;
        over = true;
        this.#running -= 1;
        if (this.#running === 0) for (const resolve of this.#rest.splice(0)) resolve();
        return true;
      };
      const dies = () => {
        leave();
      };
      this.#strike(
        () =>
          work((error, result) => {
            if (over || process.dead) return dies();
            told(error, result);
            leave();
          }),
        dies,
      );
      if (process.dead) dies();
    };
    if (callback !== undefined) {
      start(callback);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      start((error, result) => (error == null ? resolve(result) : reject(error)));
    });
  }

  #strike(step: () => void, dies: () => void): void {
    try {
      step();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      dies();
    }
  }

  #query(
    process: Process,
    watched: WatchedClient,
    config: string | pg.QueryConfig,
    values: unknown,
    done: Done,
    query: (...args: unknown[]) => unknown,
  ): void {
    if (process.dead) return;
    const text = typeof config === 'string' ? config : config.text;
    const begins = /^\s*BEGIN\b/i.test(text);
    const isWrite = writes.test(text);
    if (begins) process.onStep('begin');
    else if (/^\s*COMMIT\b/i.test(text)) process.onStep('commit');
    else if (isWrite) process.onStep('statement');
    if (process.dead) return;
    const commits = /^\s*COMMIT\b/i.test(text) || (isWrite && !watched.inTransaction && !begins);
    if (begins) watched.inTransaction = true;
    else if (ends.test(text)) watched.inTransaction = false;
    // Heartbeats are statements of their own, and would be most of those that fail.
    const takesRoom = isWrite && (process.roomAfterFailure === null || watched.inTransaction);
    const full = takesRoom && process.writesLeft !== null && process.writesLeft <= 0;
    if (full && process.roomAfterFailure !== null) process.writesLeft = process.roomAfterFailure;
    else if (takesRoom && process.writesLeft !== null) process.writesLeft -= 1;
    if (isWrite && mirrored.test(text)) watched.wroteMirror = true;
    const changed = commits && watched.wroteMirror;
    if (commits || ends.test(text)) watched.wroteMirror = false;
    const answered: Done = (error, result) => {
      if (error != null || ends.test(text)) watched.told = null;
      if (process.dead || error != null || !commits) return done(error, result);
      this.#strike(
        () => {
          process.changedMirror ||= changed;
          process.onStep('torn');
          process.onStep('committed');
          process.onCommit();
          done(error, result);
        },
        () => done(error, result),
      );
    };
    const ask = () => (full ? query(diskFull, answered) : query(config, values, answered));
    const now = this.now();
    if (watched.told === now || !asksTime.test(text)) return void ask();
    watched.told = now;
    const tell = (then: () => void) => query("SELECT set_config('sim.now', $1, false)", [String(now)], then);
    if (watched.pipelined) {
      tell(() => {});
      ask();
    } else tell(ask);
  }
}
