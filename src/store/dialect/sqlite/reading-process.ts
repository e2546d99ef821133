import type { ChildProcess } from 'node:child_process';
import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { endedWithoutAnswer } from '../../../runtime/file-descriptors.js';
import { Interrupter } from '../../../runtime/interruption.js';
import { startOwnProcess } from '../../../runtime/own-process.js';
import { errorOf } from './child-failure.js';
import type { Demand, ReadingReply } from './reading-messages.js';

/** Sends requests of one session, whose connection runs them in order. */
export type AskApart = (demand: Demand) => Promise<readonly unknown[]>;

/** Longer than a user usually reads one page before opening the next. */
const idleMillis = 5 * 60_000;

/**
 * Runs SQLite reads in a child process shared by all readers. SQLite blocks the thread while a query runs: a search
 * through many names takes long enough that a daemon running it itself would accept no webhook meanwhile. The process
 * starts with the first reader and ends some minutes after the last one. If it dies, the next reader starts another.
 */
export class ReadingProcess {
  #running: ChildRun | null = null;
  #readers = 0;
  #sessions = 0;
  #closed = false;
  #idleTimer = new Interrupter();

  constructor(readonly clock: Clock) {}

  /** Runs `work` with a connection to this file, and closes the connection afterwards. */
  async read<Result>(file: string, work: (ask: AskApart) => Promise<Result>): Promise<Result> {
    const running = this.#runningProcess();
    this.#sessions += 1;
    const session = this.#sessions;
    const ask: AskApart = (demand) => running.ask(session, demand);
    this.#readers += 1;
    try {
      await ask({ kind: 'open', file });
      try {
        return await work(ask);
      } finally {
        // If the process has ended, so has the connection.
        await ask({ kind: 'close' }).catch(() => {});
      }
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0 && !this.#closed) void this.#endWhenIdle();
    }
  }

  /** Ends the process for good. Running reads fail: shutting down does not wait for them. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#idleTimer.abort();
    await this.#end();
  }

  async #end(): Promise<void> {
    // A reader that arrives while it ends starts another process.
    const running = this.#running;
    this.#running = null;
    await running?.end();
  }

  #runningProcess(): ChildRun {
    if (this.#closed) throw new Fault('stopped', 'the mirror cannot be read: the daemon is stopping');
    this.#idleTimer.abort();
    if (this.#running === null || this.#running.isOver) this.#running = new ChildRun();
    return this.#running;
  }

  async #endWhenIdle(): Promise<void> {
    const timer = new Interrupter();
    this.#idleTimer = timer;
    await this.clock.wait(idleMillis, timer);
    if (!timer.aborted) await this.#end();
  }
}

interface PendingRequest {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/** One run of the child process. */
class ChildRun {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #ended: Promise<void>;
  #over = false;
  #lastNo = 0;

  constructor() {
    this.#child = startOwnProcess(import.meta.url, 'reading-child');
    this.#child.on('message', (reply) => this.#receive(reply as ReadingReply));
    this.#ended = new Promise((resolve) => {
      const end = () => {
        this.#over = true;
        for (const { reject } of this.#pending.values())
          reject(endedWithoutAnswer('the process that reads the mirror', this.#child.signalCode));
        this.#pending.clear();
        resolve();
      };
      this.#child.once('exit', end);
      // The process could not be started, or a message could not be sent.
      this.#child.on('error', end);
    });
  }

  get isOver(): boolean {
    return this.#over || !this.#child.connected;
  }

  ask(session: number, demand: Demand): Promise<readonly unknown[]> {
    this.#lastNo += 1;
    const no = this.#lastNo;
    return new Promise((resolve, reject) => {
      if (this.isOver) return reject(new Error('the process that reads the mirror has ended'));
      this.#pending.set(no, { resolve, reject });
      // A failed send is reported by the child's `error` or `exit` event.
      this.#child.send({ ...demand, session, no }, () => {});
    });
  }

  /** Kills the process: while a query runs it handles no messages. It only reads, and its locks end with it. */
  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #receive(reply: ReadingReply): void {
    const pending = this.#pending.get(reply.no);
    this.#pending.delete(reply.no);
    if (reply.kind === 'rows') pending?.resolve(reply.rows);
    else pending?.reject(errorOf(reply.failure));
  }
}
