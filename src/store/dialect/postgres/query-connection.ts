import pg from 'pg';
import type { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import { endedEarly, rowTooLarge, tooSlow } from '../../query-refusals.js';
import { driverUrl } from './driver-url.js';
import { endOfSession, rememberEnd } from './end-of-session.js';
import { parserOf } from './query-values.js';

const connectTimeoutMs = 5_000;

interface ConnectionLimits {
  readonly timeoutMs: number;
  readonly rowBytesMax: number;
}

/**
 * The connection of one query, which is closed as soon as the query exceeds a limit or `signal` fires: the server then ends
 * the statement within a second.
 */
export class QueryConnection {
  readonly client: pg.Client;
  readonly arriving: ArrivingBytes;
  /** Why the connection was closed before the query ended. */
  #cause: Fault | undefined;
  #isOpen = true;
  #left: number;
  #begunAt = 0;
  #timer = new AbortController();
  readonly #onAbort = () => this.#stop(endedEarly());

  constructor(
    url: string,
    private readonly limits: ConnectionLimits,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
  ) {
    const { timeoutMs, rowBytesMax } = limits;
    this.#left = timeoutMs;
    this.client = new pg.Client({
      connectionString: driverUrl(url),
      application_name: 'rosterd-query',
      connectionTimeoutMillis: connectTimeoutMs,
      types: { getTypeParser: (oid: number) => parserOf(oid) } as pg.CustomTypesConfig,
    });
    // The statement on a broken connection fails and reports the error.
    rememberEnd(this.client);
    this.arriving = new ArrivingBytes(this.client, rowBytesMax, () => this.#stop(rowTooLarge(rowBytesMax)));
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
    this.resume();
  }

  /** The server's limit applies to each statement; fetching a result in batches takes several. */
  resume(): void {
    if (!this.#isOpen) return;
    const timer = new AbortController();
    this.#timer = timer;
    this.#begunAt = this.clock.monotonic();
    void this.clock.wait(this.#left, timer.signal).then(() => {
      if (!timer.signal.aborted) this.#stop(tooSlow(this.limits.timeoutMs));
    });
  }

  /** The time until `resume` does not count. */
  pause(): void {
    this.#left -= this.clock.monotonic() - this.#begunAt;
    this.#timer.abort();
  }

  async open(): Promise<void> {
    await this.client.connect();
    this.arriving.watch();
  }

  /**
   * Returns the result of `work`. A failure closes the connection and throws the limit that was exceeded, or else what
   * `faultOf` makes of the error.
   */
  async attempt<Result>(work: () => Promise<Result>, faultOf: (error: unknown) => unknown): Promise<Result> {
    try {
      if (this.#cause !== undefined) throw this.#cause;
      return await work();
    } catch (error) {
      this.close();
      throw this.#cause ?? faultOf(endOfSession(this.client, error));
    }
  }

  /** Closes the connection without waiting for the running statement, unlike `end` of the driver. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#timer.abort();
    this.signal.removeEventListener('abort', this.#onAbort);
    this.client.connection.stream.destroy();
  }

  #stop(reason: Fault): void {
    this.#cause ??= reason;
    this.close();
  }
}

/** A row may arrive quoted and with others: a query ends when one result exceeds this many times the largest row. */
const rowsAtOnce = 4;

/** Counts the bytes a connection receives for one result, before the driver has assembled it. */
export class ArrivingBytes {
  bytes = 0;

  constructor(
    private readonly client: pg.Client,
    private readonly rowBytesMax: number,
    private readonly onTooMany: () => void,
  ) {}

  /** Call it after connecting: TLS replaces the stream. */
  watch(): void {
    this.client.connection.stream.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.bytes > this.rowBytesMax * rowsAtOnce) this.onTooMany();
    });
  }

  begin(): void {
    this.bytes = 0;
  }
}
