import type { Clock } from '../../../runtime/clock.js';
import type { AttemptMade } from '../../events.js';
import type { Answer } from '../../http/envelope.js';
import type { Exchange } from '../../http/exchange.js';
import type { Interceptor } from '../../http/server.js';
import { isOperatorPath } from '../requests.js';

/** One line of the log: a request to the platform, or an attempt to deliver a webhook. No body, name or token. */
export interface TrafficEntry {
  readonly at: number;
  readonly kind: 'request' | 'delivery';
  readonly method: string;
  /** Path of a request, or event and host of a delivery. */
  readonly path: string;
  /** Null when the connection ended without a response. */
  readonly status: number | null;
  /** Why there is no status. */
  readonly error: string | null;
  /** Request id or delivery id. */
  readonly id: string;
  /** The scopes of the operation that the caller holds. Empty where none is needed. */
  readonly scopes: readonly string[];
}

const keptMax = 100;

/** Keeps the last requests and deliveries in memory. */
export class RecentTraffic implements Interceptor {
  readonly #clock: Clock;
  readonly #kept: number;
  #entries: readonly TrafficEntry[] = [];

  constructor(clock: Clock, kept = keptMax) {
    this.#clock = clock;
    this.#kept = kept;
  }

  after(exchange: Exchange, answer: Answer): void {
    if (isOperatorPath(exchange.path)) return;
    // A fault that cuts the connection has the status 0.
    const cut = answer.status === 0;
    this.#add({
      at: this.#clock.now(),
      kind: 'request',
      method: knownMethod(exchange.method),
      path: shownPath(exchange),
      status: cut ? null : answer.status,
      error: cut ? 'connection cut' : null,
      id: exchange.requestId,
      scopes: scopesUsed(exchange),
    });
  }

  attempted({ delivery, event, host, status, error }: AttemptMade): void {
    const about = { at: this.#clock.now(), kind: 'delivery', method: 'POST' } as const;
    this.#add({
      ...about,
      path: `${event} to ${host}`,
      status,
      error: error?.replaceAll('_', ' ') ?? null,
      id: delivery,
      scopes: [],
    });
  }

  /** Returns the entries, newest first. */
  newestFirst(): readonly TrafficEntry[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries = [];
  }

  #add(entry: TrafficEntry): void {
    this.#entries = [entry, ...this.#entries].slice(0, this.#kept);
  }
}

const knownMethod = (method: string): string => (/^[A-Z]{1,10}$/.test(method) ? method : '?');

function scopesUsed({ caller, operation }: Exchange): readonly string[] {
  if (caller === null) return [];
  return (operation?.scopes ?? []).filter((scope) => caller.scopes.has(scope));
}

const idShape = /^[a-z]{2,6}_[0-9A-Za-z]{22}$/;

/**
 * Returns the path with ids, but without user names and tokens. Pages are reached with a secret in the path, so all of
 * their parameters are hidden. Of an unknown path only the first segment is shown, which is enough to see a misspelling.
 */
function shownPath({ operation, path, params }: Exchange): string {
  if (operation === null) {
    const [, first = '', rest = ''] = /^\/([^/]*)(.*)$/s.exec(path) ?? [];
    return `/${/^[a-z][a-z_.-]{0,23}$/.test(first) ? first : '…'}${rest === '' ? '' : '/…'}`;
  }
  return operation.path.replaceAll(/\{([^}]+)\}/g, (template, name: string) => {
    const value = params[name] ?? '';
    return operation.scopes !== null && name !== 'token' && idShape.test(value) ? value : template;
  });
}
