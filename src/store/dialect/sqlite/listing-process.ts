import type { ChildProcess } from 'node:child_process';
import { Fault } from '../../../domain/fault.js';
import { descriptorsFault } from '../../../runtime/file-descriptors.js';
import type { Interruption } from '../../../runtime/interruption.js';
import { lostProcess, startOwnProcess } from '../../../runtime/own-process.js';
import { errorOf } from './child-failure.js';
import type { ListingOrder, ListingReply } from './listing-messages.js';
import type { ListingResults, PerformTask } from './listing-work.js';

/** Performs the work before the publication of a large listing in a child process. */
export class ListingProcess {
  readonly #child: ChildProcess;
  readonly #file: string;
  readonly #inTurn: (commit: () => Promise<void>) => Promise<void>;
  #over = false;
  /** Ends the turn of a commit that the process is writing. */
  #wrote: () => void = () => {};

  /**
   * `inTurn` runs each of several commits while the other writers of this program wait. When `signal` fires, a task that waits for
   * the lock of another program throws `stopped`.
   */
  constructor(
    file: string,
    inTurn: (commit: () => Promise<void>) => Promise<void> = (commit) => commit(),
    signal?: Interruption,
  ) {
    this.#file = file;
    this.#inTurn = inTurn;
    try {
      this.#child = startOwnProcess(import.meta.url, 'listing-child');
    } catch (error) {
      // Node throws some reasons, such as a lack of memory, and passes on the others.
      throw descriptorsFault(error) ?? lost(`${it} could not be started`, error);
    }
    const stop = () => this.#order({ kind: 'stop' });
    const end = () => {
      this.#over = true;
      signal?.removeEventListener('abort', stop);
      this.#wrote();
    };
    this.#child.once('close', end);
    // A process that could not be started, or a message that could not be sent, is reported to the waiting task.
    this.#child.on('error', end);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
  }

  /** Performs one task at a time. Throws what the task threw, and when the process ended before it replied. */
  readonly perform: PerformTask = (task) =>
    new Promise((resolve, reject) => {
      const done = () => {
        this.#child.off('message', receive);
        this.#child.off('close', lose);
        this.#child.off('error', lose);
      };
      const fail = (error: unknown) => {
        done();
        reject(error);
      };
      const lose = () => {
        done();
        const ended = lostProcess(it, this.#child);
        reject(ended.code === 'out_of_descriptors' ? ended : lost(ended.message, ended));
      };
      const receive = (message: unknown) => {
        const reply = message as ListingReply;
        if (reply.kind === 'asks') return void this.#inTurn(() => this.#letWrite()).catch(fail);
        if (reply.kind === 'wrote') return this.#wrote();
        done();
        if (reply.kind === 'done') resolve(reply.result as ListingResults[(typeof task)['kind']]);
        else reject(errorOf(reply.failure));
      };
      if (this.#over) return lose();
      this.#child.on('message', receive);
      this.#child.once('close', lose);
      this.#child.once('error', lose);
      this.#order({ kind: 'task', file: this.#file, task });
    });

  /** Resolves when the process has written its commit, or has ended. */
  #letWrite(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#over) return resolve();
      this.#wrote = resolve;
      this.#order({ kind: 'go' });
    });
  }

  #order(order: ListingOrder): void {
    this.#child.send(order, () => {});
  }

  /** Kills the process. An unfinished transaction of it is rolled back. */
  async end(): Promise<void> {
    if (this.#over) return;
    const ended = new Promise<void>((resolve) => this.#child.once('close', () => resolve()));
    this.#child.kill('SIGKILL');
    await ended;
  }
}

const it = 'the process that prepares the publication of a listing';

/** The next tick repeats what was not committed, so whatever ended the process halts no source. */
const lost = (what: string, cause: unknown) =>
  new Fault('database_busy', what, {
    hint: 'the machine probably has too little memory: the log of its kernel names what it ended',
    lasting: true,
    cause,
  });
