import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { Interrupter, type Interruption } from '../../../runtime/interruption.js';
import { abandonedReading } from '../port.js';
import type { Demand } from './reading-messages.js';
import { ReadingRun } from './reading-run.js';

/** Sends requests of one session. A process answers one query at a time, so a session may use several. */
export type AskApart = (demand: Demand) => Promise<readonly unknown[]>;

/** Each takes some 60 MB while the dashboard is open, and a processor while it answers. */
const processesMax = 3;

/** How long a query waits for a process before another one is started: longer than most pages take. */
export const patienceMillis = 100;

/** Longer than a user usually reads one page before opening the next. */
const idleMillis = 5 * 60_000;

/** One reading of a page or file. */
interface Session {
  readonly no: number;
  readonly file: string;
  /** Where its streamed result is. */
  streaming: Process | null;
  isOver: boolean;
}

interface Process {
  readonly run: ReadingRun;
  /** The sessions that have a connection in it. */
  readonly sessions: Set<Session>;
  /** The session whose query it answers. */
  asking: Session | null;
  idle: Interrupter;
}

interface Waiting {
  readonly session: Session;
  readonly since: number;
  readonly take: (process: Process) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Runs SQLite reads in child processes. SQLite blocks the thread while a query runs: a search through many names takes
 * long enough that a daemon running it itself would accept no webhook meanwhile. The first reader starts a process, which
 * all share. While slow queries keep it busy, others are started, so that pages do not wait for a search. Each ends some
 * minutes after its last reader. If one dies, the next reader starts another.
 */
export class ReadingProcesses {
  #processes: Process[] = [];
  #waiting: Waiting[] = [];
  readonly #closing = new Interrupter();
  #sessions = 0;
  #isGrowing = false;

  constructor(readonly clock: Clock) {}

  /**
   * Runs `work` with connections to this file, and closes them afterwards. When `gone` aborts, its client has
   * gone: a process that still works for it a moment later is ended.
   */
  async read<Result>(
    file: string,
    work: (ask: AskApart) => Promise<Result>,
    gone?: Interruption,
  ): Promise<Result> {
    this.#sessions += 1;
    const session: Session = { no: this.#sessions, file, streaming: null, isOver: false };
    const abandon = () => void this.#abandon(session);
    gone?.addEventListener('abort', abandon, { once: true });
    try {
      if (gone?.aborted === true) throw abandonedReading();
      await this.#inTurn(session, async () => []);
      return await work((demand) => this.#ask(session, demand));
    } catch (error) {
      throw gone?.aborted === true ? abandonedReading() : error;
    } finally {
      gone?.removeEventListener('abort', abandon);
      session.isOver = true;
      for (const process of this.#processes) this.#leave(process, session);
    }
  }

  async #ask(session: Session, demand: Demand): Promise<readonly unknown[]> {
    // The rest of a streamed result is where its beginning is.
    if (demand.kind === 'next' || demand.kind === 'drop')
      return (await session.streaming?.run.ask(session.no, demand)) ?? [];
    return await this.#inTurn(session, async (process) => {
      if (demand.kind === 'begin') session.streaming = process;
      return await process.run.ask(session.no, demand);
    });
  }

  async #abandon(session: Session): Promise<void> {
    session.isOver = true;
    for (const { fail } of this.#waiting.filter((one) => one.session === session)) fail(abandonedReading());
    this.#waiting = this.#waiting.filter((one) => one.session !== session);
    const process = this.#processes.find(({ asking }) => asking === session);
    if (process === undefined) return;
    // Most queries end sooner than another process starts.
    await this.clock.wait(patienceMillis, this.#closing);
    const others = [...process.sessions].filter((other) => other !== session);
    if (process.asking !== session || others.some(({ streaming }) => streaming === process)) return;
    await process.run.end();
  }

  /** Ends the processes for good. Running reads fail: shutting down does not wait for them. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { fail } of this.#waiting.splice(0)) fail(stopping());
    const processes = this.#processes.splice(0);
    for (const { idle } of processes) idle.abort();
    await Promise.all(processes.map(({ run }) => run.end()));
  }

  async #open(process: Process, session: Session): Promise<void> {
    if (process.sessions.has(session)) return;
    process.sessions.add(session);
    process.idle.abort();
    try {
      await process.run.ask(session.no, { kind: 'open', file: session.file });
    } catch (error) {
      this.#leave(process, session);
      throw error;
    }
  }

  /** Not awaited: the process may be busy with a query of another session. If it has ended, so has the connection. */
  #leave(process: Process, session: Session): void {
    if (!process.sessions.delete(session)) return;
    process.run.ask(session.no, { kind: 'close' }).catch(() => {});
    if (process.sessions.size === 0 && !process.run.isOver) void this.#endWhenIdle(process);
  }

  async #endWhenIdle(process: Process): Promise<void> {
    const timer = new Interrupter();
    process.idle = timer;
    await this.clock.wait(idleMillis, timer);
    if (timer.aborted) return;
    // A reader that arrives while it ends uses another process.
    this.#processes = this.#processes.filter((other) => other !== process);
    await process.run.end();
  }

  async #inTurn<Result>(session: Session, work: (process: Process) => Promise<Result>): Promise<Result> {
    const process = await this.#freeProcess(session);
    try {
      // Of several queries at once, the first that failed ended the reading.
      if (session.isOver) throw new Error('this reading has ended');
      await this.#open(process, session);
      return await work(process);
    } finally {
      this.#passOn(process);
    }
  }

  /** Returns a process that no other query uses until `#passOn`. */
  async #freeProcess(session: Session): Promise<Process> {
    if (this.#closing.aborted) throw stopping();
    this.#forgetDead();
    const free = this.#processes.filter(({ asking }) => asking === null);
    const process = free.find(({ sessions }) => sessions.has(session)) ?? free[0];
    if (process !== undefined) {
      process.asking = session;
      return process;
    }
    if (this.#processes.length === 0) return this.#start(session);
    return await new Promise<Process>((take, fail) => {
      this.#waiting.push({ session, since: this.clock.monotonic(), take, fail });
      void this.#grow();
    });
  }

  /** Gives a process whose query has ended, or another one if it has died, to the query that has waited longest. */
  #passOn(process: Process): void {
    process.asking = null;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#forgetDead();
    if (!process.run.isOver) process.asking = next.session;
    next.take(process.run.isOver ? this.#start(next.session) : process);
  }

  /** Starts further processes while a query waits too long for one. */
  async #grow(): Promise<void> {
    if (this.#isGrowing) return;
    this.#isGrowing = true;
    for (;;) {
      const first = this.#waiting[0];
      if (first === undefined || this.#processes.length >= processesMax) break;
      await this.clock.wait(first.since + patienceMillis - this.clock.monotonic(), this.#closing);
      if (this.#closing.aborted) break;
      if (this.#waiting[0] !== first || this.#processes.length >= processesMax) continue;
      this.#waiting.shift();
      first.take(this.#start(first.session));
    }
    this.#isGrowing = false;
  }

  #forgetDead(): void {
    for (const { run, idle } of this.#processes) if (run.isOver) idle.abort();
    this.#processes = this.#processes.filter(({ run }) => !run.isOver);
  }

  #start(asking: Session): Process {
    const process = { run: new ReadingRun(), sessions: new Set<Session>(), asking, idle: new Interrupter() };
    this.#processes.push(process);
    return process;
  }
}

const stopping = () => new Fault('stopped', 'the mirror cannot be read: the daemon is stopping');
