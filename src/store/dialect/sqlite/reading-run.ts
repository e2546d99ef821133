import type { ChildProcess } from 'node:child_process';
import { lostProcess, startOwnProcess } from '../../../runtime/own-process.js';
import { errorOf } from './child-failure.js';
import type { Demand, ReadingReply } from './reading-messages.js';

interface PendingRequest {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/** One run of a child process that reads: see reading-processes.ts. It answers in the order in which it is asked. */
export class ReadingRun {
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
          reject(lostProcess('the process that reads the mirror', this.#child));
        this.#pending.clear();
        resolve();
      };
      this.#child.once('close', end);
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
      // A failed send is reported by the child's `error` or `close` event.
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
