import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';

export type LookOrder =
  | { readonly kind: 'open'; readonly session: number; readonly url: string }
  | { readonly kind: 'run'; readonly session: number; readonly texts: readonly string[] }
  | { readonly kind: 'close'; readonly session: number };

export type LookAnswer = { readonly rows: readonly (readonly object[])[] } | { readonly failed: string };

const patienceMillis = 120_000;

/**
 * A server asked as if it answered at once, so that whoever judges a mirror need not know that it is far away: the
 * question goes to a thread with connections of its own, and this one stands still until it is answered.
 */
export class Looks {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  #sessions = 0;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker = new Worker(beginning(), {
      ...{ eval: true, execArgv: [] },
      workerData: { port: port2, answered: this.#answered },
      transferList: [port2],
    });
    // Neither holds up the end of whoever forgot to close them.
    this.#worker.unref();
    this.#port.unref();
  }

  open(url: string): Session {
    this.#sessions += 1;
    const session = this.#sessions;
    this.#ask({ kind: 'open', session, url });
    return {
      run: (...texts) => this.#ask({ kind: 'run', session, texts }),
      close: () => void this.#ask({ kind: 'close', session }),
    };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(order: LookOrder): readonly (readonly object[])[] {
    Atomics.store(this.#answered, 0, 0);
    this.#port.postMessage(order);
    // The call that woke us may still be the one for the answer before.
    while (Atomics.load(this.#answered, 0) === 0)
      if (Atomics.wait(this.#answered, 0, 0, patienceMillis) === 'timed-out')
        throw new Error('the server does not answer whoever looks at it');
    const answer = receiveMessageOnPort(this.#port)?.message as LookAnswer | undefined;
    if (answer === undefined) throw new Error('whoever looks at the server said nothing');
    if ('failed' in answer) throw new LookFailed(answer.failed);
    return answer.rows;
  }
}

/** A thread is not told how this one reads TypeScript. */
function beginning(): string {
  const isTranslated = import.meta.url.endsWith('.js');
  const thread = new URL(`./look-thread.${isTranslated ? 'js' : 'ts'}`, import.meta.url).href;
  if (isTranslated) return `import(${JSON.stringify(thread)})`;
  const tsx = pathToFileURL(
    createRequire(import.meta.url)
      .resolve('tsx/esm/api')
      .replace(/\.cjs$/, '.mjs'),
  ).href;
  return `import(${JSON.stringify(tsx)}).then((tsx) => { tsx.register(); return import(${JSON.stringify(thread)}); })`;
}

/** What the server said instead of an answer, its code first. */
export class LookFailed extends Error {}

export interface Session {
  /** One answer for each. */
  run(...texts: readonly string[]): readonly (readonly object[])[];
  close(): void;
}
