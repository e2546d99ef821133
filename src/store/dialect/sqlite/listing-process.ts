import type { ChildProcess } from 'node:child_process';
import { Fault } from '../../../domain/fault.js';
import { descriptorsFault, endedWithoutAnswer } from '../../../runtime/file-descriptors.js';
import { startOwnProcess } from '../../../runtime/own-process.js';
import { errorOf } from './child-failure.js';
import type { ListingReply } from './listing-messages.js';
import type { ListingResults, PerformTask } from './listing-work.js';

/** Performs the work before the publication of a large listing in a child process. */
export class ListingProcess {
  readonly #child: ChildProcess;
  readonly #file: string;
  #over = false;

  constructor(file: string) {
    this.#file = file;
    try {
      this.#child = startOwnProcess(import.meta.url, 'listing-child');
    } catch (error) {
      // Node throws some reasons, such as a lack of memory, and passes on the others.
      throw descriptorsFault(error) ?? lost(`${it} could not be started`, error);
    }
    this.#child.once('exit', () => {
      this.#over = true;
    });
    // A process that could not be started, or a message that could not be sent, is reported to the waiting task.
    this.#child.on('error', () => {
      this.#over = true;
    });
  }

  /** Performs one task at a time. Throws what the task threw, and when the process ended before it replied. */
  readonly perform: PerformTask = (task) =>
    new Promise((resolve, reject) => {
      const done = () => {
        this.#child.off('message', receive);
        this.#child.off('exit', lose);
        this.#child.off('error', lose);
      };
      const lose = () => {
        done();
        const ended = endedWithoutAnswer(it, this.#child.signalCode);
        reject(ended.code === 'out_of_descriptors' ? ended : lost(ended.message, ended));
      };
      const receive = (message: unknown) => {
        done();
        const reply = message as ListingReply;
        if (reply.kind === 'done') resolve(reply.result as ListingResults[(typeof task)['kind']]);
        else reject(errorOf(reply.failure));
      };
      if (this.#over) return lose();
      this.#child.once('message', receive);
      this.#child.once('exit', lose);
      this.#child.once('error', lose);
      this.#child.send({ file: this.#file, task }, () => {});
    });

  /** Kills the process. An unfinished transaction of it is rolled back. */
  async end(): Promise<void> {
    if (this.#over) return;
    const ended = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
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
