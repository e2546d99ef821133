import type { Answer } from '../http/envelope.js';
import type { Exchange } from '../http/exchange.js';
import type { Interceptor } from '../http/server.js';

/** One recorded request. Tokens are identified by row number, never stored. */
export interface AskedRequest {
  readonly seq: number;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly status: number;
  readonly tokenId: string | null;
  readonly at: string;
}

/** Number of entries kept: enough for any test, small enough for memory. */
const keptMax = 10_000;

export class RequestLedger implements Interceptor {
  #entries: AskedRequest[] = [];
  #seq = 0;

  after(exchange: Exchange, answer: Answer): void {
    if (isOperatorPath(exchange.path)) return;
    this.#seq += 1;
    this.#entries.push({
      seq: this.#seq,
      method: exchange.method,
      path: exchange.path,
      query: Object.fromEntries(exchange.query),
      status: answer.status,
      tokenId: exchange.caller?.key ?? null,
      at: new Date(exchange.now).toISOString(),
    });
    if (this.#entries.length > 2 * keptMax) this.#entries = this.#entries.slice(-keptMax);
  }

  /** Returns the entries after a number, or from a time on. */
  since(from: { readonly seq: number } | { readonly time: string }): readonly AskedRequest[] {
    return this.#entries
      .slice(-keptMax)
      .filter((entry) => ('seq' in from ? entry.seq > from.seq : entry.at >= from.time));
  }

  clear(): void {
    this.#entries = [];
  }
}

export const controlPath = '/_sandbox';
export const startPath = '/';

/** Returns whether the path belongs to the sandbox's operator, not to the platform: the control API or the start page. */
export const isOperatorPath = (path: string): boolean =>
  path === startPath || path === controlPath || path.startsWith(`${controlPath}/`);
