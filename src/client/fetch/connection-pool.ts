import type { Socket } from 'node:net';
import { Agent } from 'undici';
import { trustedWith } from '../../runtime/authority.js';
import { noProxy, type ProxyFor } from '../../runtime/proxy.js';
import { answerBytesMax } from './body-limits.js';
import { openConnector } from './connector.js';
import { exchange } from './exchange.js';
import type { WireFetch } from './fetch.js';

/**
 * How long a connection waits for the next request that reads, unless the server says how long it keeps one. A new
 * connection takes two or three round trips. Most servers and load balancers close theirs after a minute.
 */
const keptForReadingMillis = 50_000;

export interface PoolOptions {
  /** Maximum number of connections to the platform, shared by all sources: so many to read, and so many for the rest. */
  readonly connections?: number;
  readonly connectMillis?: number;
  readonly headersMillis?: number;
  /** Timeout between two chunks of a body. */
  readonly bodyMillis?: number;
  /**
   * Additional trusted certificate authorities in PEM, besides those that Node trusts. Verification cannot be turned
   * off.
   */
  readonly extraCa?: string | null;
  readonly wireBytesMax?: number;
  /** Which servers are reached through a proxy. Default: none. */
  readonly proxyFor?: ProxyFor;
}

export interface ConnectionPool {
  readonly fetch: WireFetch;
  close(): Promise<void>;
}

/**
 * Returns a pool of undici's own. Nothing global changes, and requests and sockets always use the same undici
 * version. `maxResponseSize` counts bytes on the wire, before decompression; `withCaps` counts after it.
 */
export function openConnectionPool(options: PoolOptions = {}): ConnectionPool {
  let awaited = 0;
  const open = new Set<Socket>();
  const common: Agent.Options = {
    connections: options.connections ?? 8,
    headersTimeout: options.headersMillis ?? 20_000,
    bodyTimeout: options.bodyMillis ?? 15_000,
    maxResponseSize: options.wireBytesMax ?? answerBytesMax,
    connect: openConnector({
      timeoutMillis: options.connectMillis ?? 10_000,
      ca: options.extraCa == null ? null : trustedWith(options.extraCa),
      isAwaited: () => awaited > 0,
      proxyFor: options.proxyFor ?? noProxy,
      open,
    }),
  };
  const openReaders = () => new Agent({ ...common, keepAliveTimeout: keptForReadingMillis });
  let readers = openReaders();
  const left = new Set<Agent>();
  let isClosed = false;
  // What may not be repeated takes a connection that undici keeps for four seconds: the longer one waits, the likelier
  // the other side closes it while the request is on its way.
  const others = new Agent(common);

  /** Leaves the idle connections beside one that broke: after a change of the network, none of them may answer. */
  const leave = (agent: Agent) => {
    if (isClosed || agent !== readers) return;
    readers = openReaders();
    left.add(agent);
    // Requests that run end first. The end of the pool may destroy it meanwhile, which is an error of `close`.
    agent.close().then(
      () => left.delete(agent),
      () => left.delete(agent),
    );
  };

  return {
    async fetch(url, init) {
      const agent = init.method === 'GET' ? readers : others;
      awaited += 1;
      try {
        return await exchange(agent, url, { ...init, headers: { 'user-agent': 'rosterd', ...init.headers } });
      } catch (error) {
        if (!init.signal.aborted) leave(agent);
        throw error;
      } finally {
        awaited -= 1;
      }
    },
    async close() {
      isClosed = true;
      await Promise.all([...left, readers, others].map((agent) => agent.destroy()));
      // undici does not close those that are not ready yet. The process would not end before their timeouts.
      for (const socket of open) socket.destroy();
    },
  };
}
