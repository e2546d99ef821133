import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';

export type LookOrder =
  | { readonly kind: 'open'; readonly session: number; readonly url: string }
  | { readonly kind: 'run'; readonly session: number; readonly texts: readonly string[] }
  | { readonly kind: 'close'; readonly session: number };

export type LookAnswer = { readonly rows: readonly (readonly object[])[] } | { readonly failed: string };

const timeoutMillis = 120_000;

/**
 * Queries a server synchronously, so that the judge need not know that the mirror is remote: a thread with its own
 * connections runs the query while the calling thread blocks.
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
      eval: true,
      execArgv: [],
      workerData: { port: port2, answered: this.#answered },
      transferList: [port2],
    });
    // An unclosed thread must not keep the process alive.
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
    // The wake-up may still belong to the previous response.
    while (Atomics.load(this.#answered, 0) === 0)
      if (Atomics.wait(this.#answered, 0, 0, timeoutMillis) === 'timed-out')
        throw new Error('the server did not answer the look');
    const answer = receiveMessageOnPort(this.#port)?.message as LookAnswer | undefined;
    if (answer === undefined) throw new Error('the look thread returned nothing');
    if ('failed' in answer) throw new LookFailed(answer.failed);
    return answer.rows;
  }
}

/** A worker thread does not inherit the loader that lets this one read TypeScript. */
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

/** The error of the server, its code first. */
export class LookFailed extends Error {}

export interface Session {
  /** Returns one result for each statement. They see one snapshot and are one transaction, if none is open. */
  run(...texts: readonly string[]): readonly (readonly object[])[];
  close(): void;
}
