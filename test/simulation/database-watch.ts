import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';

/** Thrown into the dying process at the statement itself; its later actions have no effect. */
export class Crash extends Error {
  constructor() {
    super('the process died here');
    this.name = 'Crash';
  }
}

/**
 * The steps at which a crash may strike. `torn` is a death during the commit's write to the WAL, `file` a step on
 * a file beside the database.
 */
export type Step = 'begin' | 'statement' | 'commit' | 'torn' | 'committed' | 'file';

export interface Watched {
  /** Called at every step of every connection of the process; may throw `Crash`. */
  onStep(step: Step): void;
  onCommit(): void;
  /** No connection may grow the file beyond this number of pages. */
  readonly pagesMax: number | null;
  readonly dead: boolean;
  /** Set while a crash waits for one of the next steps. */
  readonly armed: object | null;
}

interface Process extends Watched {
  readonly connections: Set<Sqlite.Database>;
  /** WAL frames that a power cut cannot lose; null when all frames are synced. */
  floor: Frames | null;
}

export interface Frames {
  readonly salt: bigint;
  readonly count: number;
  /** How many of them a checkpoint has copied into the file. It syncs the log before it copies any. */
  readonly copied: number;
}

type Method = (this: Sqlite.Database, ...args: unknown[]) => unknown;

/**
 * Observes real SQLite from outside. A connection belongs to the process whose folder contains its file. Busy
 * timeouts are set to zero, because they would sleep in real time: a real lock fails at once.
 */
export class DatabaseWatch {
  readonly #processes = new Map<string, Process>();
  readonly #known = new WeakMap<Sqlite.Database, Process | null>();
  /** Connections whose commits are not synced. A commit of any other connection syncs theirs as well. */
  readonly #relaxed = new WeakSet<Sqlite.Database>();
  readonly #undo: (() => void)[] = [];

  constructor() {
    const watch = this;
    const { prototype } = Sqlite;
    const { exec, pragma, prepare } = prototype as unknown as Record<string, Method>;
    if (exec === undefined || pragma === undefined || prepare === undefined)
      throw new Error('better-sqlite3 has changed');
    const patched: Record<string, Method> = {
      exec(sql) {
        const process = watch.#processOf(this);
        if (process === null) return exec.call(this, sql);
        const text = String(sql);
        // The simulated processes share one thread, so none of them may ever wait for another one's lock.
        if (/^PRAGMA busy_timeout = \d/.test(text)) return this;
        // A VACUUM is a commit as well: it reaches the WAL all at once, or a death tears it.
        if (text === 'COMMIT' || text === 'VACUUM')
          return watch.#commit(process, this, () => exec.call(this, sql));
        process.onStep(text.startsWith('BEGIN') ? 'begin' : 'statement');
        watch.#durability(this, text);
        return exec.call(this, sql);
      },
      pragma(text, options) {
        const process = watch.#processOf(this);
        if (process === null || process.dead) return pragma.call(this, text, options);
        watch.#durability(this, `PRAGMA ${text}`);
        const result = pragma.call(this, text, options);
        if (/^busy_timeout = \d/.test(String(text))) pragma.call(this, 'busy_timeout = 0');
        return result;
      },
      prepare(sql) {
        const process = watch.#processOf(this);
        const statement = prepare.call(this, sql) as Sqlite.Statement;
        if (process === null || statement.readonly) return statement;
        return watch.#watchStatement(process, this, statement);
      },
    };
    for (const [name, method] of Object.entries(patched)) {
      const original = Object.getOwnPropertyDescriptor(prototype, name);
      Object.defineProperty(prototype, name, { configurable: true, writable: true, value: method });
      if (original !== undefined) this.#undo.push(() => Object.defineProperty(prototype, name, original));
    }
  }

  undo(): void {
    for (const back of this.#undo.splice(0)) back();
  }

  /** Assigns connections to files in this folder to that process. */
  own(folder: string, watched: Watched): Process {
    const process: Process = Object.assign(watched, {
      connections: new Set<Sqlite.Database>(),
      floor: null,
    });
    this.#processes.set(folder, process);
    return process;
  }

  disown(folder: string): void {
    this.#processes.delete(folder);
  }

  #processOf(database: Sqlite.Database): Process | null {
    const known = this.#known.get(database);
    if (known !== undefined) return known;
    const process = database.readonly ? null : (this.#processes.get(dirname(database.name)) ?? null);
    this.#known.set(database, process);
    if (process !== null) {
      process.connections.add(database);
      this.#unwatchedPragma(database, 'busy_timeout = 0');
      if (process.pagesMax !== null) this.#unwatchedPragma(database, `max_page_count = ${process.pagesMax}`);
    }
    return process;
  }

  #durability(database: Sqlite.Database, text: string): void {
    if (text === 'PRAGMA synchronous = NORMAL') this.#relaxed.add(database);
    if (text === 'PRAGMA synchronous = FULL') this.#relaxed.delete(database);
  }

  #unwatchedPragma(database: Sqlite.Database, text: string): void {
    this.#known.set(database, null);
    database.pragma(text);
    this.#known.set(database, this.#processes.get(dirname(database.name)) ?? null);
  }

  #commit(process: Process, database: Sqlite.Database, run: () => unknown): unknown {
    process.onStep('commit');
    const before = this.#framesBefore(process, database);
    const result = run();
    this.#afterCommit(process, database, before);
    return result;
  }

  /**
   * Skips reading the index where no crash is armed and commits are synced, because only few commits need it.
   */
  #framesBefore(process: Process, database: Sqlite.Database): Frames | null {
    if (process.dead || (process.armed === null && !this.#relaxed.has(database))) return null;
    return framesOf(database.name);
  }

  #afterCommit(process: Process, database: Sqlite.Database, before: Frames | null): void {
    // If the process dies during this commit, at least everything before it survives in the WAL.
    process.floor ??= before;
    process.onStep('torn');
    if (!this.#relaxed.has(database)) this.#synced(process, database);
    process.onStep('committed');
    process.onCommit();
  }

  /** A second daemon reaches the same file by another path: what it syncs, no power cut takes from the first either. */
  #synced(process: Process, database: Sqlite.Database): void {
    process.floor = null;
    for (const [folder, other] of this.#processes)
      if (other.floor !== null && realpathSync(folder) === realpathSync(dirname(database.name)))
        other.floor = null;
  }

  #watchStatement(
    process: Process,
    database: Sqlite.Database,
    statement: Sqlite.Statement,
  ): Sqlite.Statement {
    const watch = this;
    const wrap = (name: 'run' | 'get' | 'all') => {
      const original = statement[name] as (...args: unknown[]) => unknown;
      Object.defineProperty(statement, name, {
        configurable: true,
        value(this: Sqlite.Statement, ...args: unknown[]) {
          process.onStep('statement');
          if (database.inTransaction) return original.apply(statement, args);
          const before = watch.#framesBefore(process, database);
          const result = original.apply(statement, args);
          watch.#afterCommit(process, database, before);
          return result;
        },
      });
    };
    for (const name of ['run', 'get', 'all'] as const) wrap(name);
    return statement;
  }
}

/**
 * Returns how much of the WAL is committed, according to the index in shared memory. Zero frames if there is no
 * index yet.
 */
export function framesOf(file: string): Frames {
  const header = Buffer.alloc(100);
  try {
    const descriptor = openSync(`${file}-shm`, 'r');
    try {
      readSync(descriptor, header, 0, header.length, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return { salt: 0n, count: 0, copied: 0 };
  }
  return {
    salt: header.readBigUInt64LE(32),
    count: header.readUInt32LE(16),
    copied: header.readUInt32LE(96),
  };
}
