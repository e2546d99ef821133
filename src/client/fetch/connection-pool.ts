import { rootCertificates } from 'node:tls';
import { Agent } from 'undici';
import { answerBytesMax } from './body-limits.js';
import { exchange } from './exchange.js';
import type { WireFetch } from './fetch.js';

export interface PoolOptions {
  /** Sockets to the platform at once. Sources take turns on them. */
  readonly connections?: number;
  readonly connectMillis?: number;
  readonly headersMillis?: number;
  /** The longest silence between two pieces of a body. */
  readonly bodyMillis?: number;
  /** More authorities to trust, in PEM, beside the ones Node brings. There is no way to trust everybody. */
  readonly extraCa?: string | null;
  readonly wireBytesMax?: number;
}

export interface ConnectionPool {
  readonly fetch: WireFetch;
  close(): Promise<void>;
}

/**
 * undici's own pool: nothing global is changed, and requests and sockets are always of one version.
 * `maxResponseSize` counts bytes on the wire, before inflating; `withCaps` counts what comes out.
 */
export function openConnectionPool(options: PoolOptions = {}): ConnectionPool {
  const agent = new Agent({
    connections: options.connections ?? 8,
    headersTimeout: options.headersMillis ?? 20_000,
    bodyTimeout: options.bodyMillis ?? 15_000,
    maxResponseSize: options.wireBytesMax ?? answerBytesMax,
    connect: {
      timeout: options.connectMillis ?? 10_000,
      ...(options.extraCa == null ? {} : { ca: [...rootCertificates, options.extraCa] }),
    },
  });
  return {
    fetch: (url, init) =>
      exchange(agent, url, { ...init, headers: { 'user-agent': 'rosterd', ...init.headers } }),
    close: () => agent.destroy(),
  };
}
