import type { ServerResponse } from 'node:http';
import { defined } from '../../domain/defined.js';
import { Interrupter } from '../../runtime/interruption.js';
import type { EventName } from '../../wire/events.js';
import { type ErrorStatus, errorTypes } from '../contract/errors.js';
import type { DeliveryHazard, Hazards } from '../hazards.js';
import { type Answer, problemAnswer } from '../http/envelope.js';
import type { Exchange } from '../http/exchange.js';
import { Problem } from '../http/problem.js';
import type { Interceptor } from '../http/server.js';
import { withoutItems } from './omit-items.js';
import { isOperatorPath } from './requests.js';

export interface FaultAction {
  readonly status?: number | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly delayMs?: number | undefined;
  /** Close the connection before the platform processes the request. */
  readonly drop?: boolean | undefined;
  /** Process the request and close the connection after this many bytes of the response body. */
  readonly truncate?: number | undefined;
  /** Lists only: leave out the last items of `data`, by their number, or the items with these ids. */
  readonly omit?: number | readonly string[] | undefined;
  /** With `omit`: `meta.count` and `meta.page_count` are those of the shorter list. */
  readonly recount?: boolean | undefined;
  /** Webhook deliveries only, see `DeliveryHazard`. */
  readonly lose?: boolean | undefined;
  readonly duplicate?: boolean | undefined;
  readonly hold?: boolean | undefined;
}

export interface FaultRule {
  readonly method?: string | undefined;
  /** `*` matches any text, `{name}` one segment; `webhook` matches deliveries. */
  readonly path: string;
  /** With the path `webhook`: the name of an event; `*` matches any text, as in `installation.*`. */
  readonly event?: string | undefined;
  /** Number of matches to skip first. */
  readonly after?: number | undefined;
  /** How many times the rule applies. */
  readonly times?: number | undefined;
  readonly action: FaultAction;
}

interface ActiveRule {
  readonly rule: FaultRule;
  readonly pattern: RegExp;
  /** Null: every event. */
  readonly event: RegExp | null;
  passes: number;
  strikes: number;
}

/** A rule in force, as the start page shows it. */
export interface RuleInForce {
  readonly method: string;
  readonly path: string;
  readonly event: string | null;
  /** Matches that still pass before the rule applies. */
  readonly passes: number;
  /** How many times the rule still applies. */
  readonly strikes: number;
  readonly action: FaultAction;
}

/** Rules are evaluated in the order they were added. Only the first one that applies takes effect. */
export class Faults implements Interceptor, Hazards {
  #rules: ActiveRule[] = [];
  readonly #chosen = new WeakMap<Exchange, FaultAction>();
  readonly #closing = new Interrupter();

  add(rules: readonly FaultRule[]): void {
    for (const rule of rules) {
      this.#rules.push({
        rule,
        pattern: patternOf(rule.path),
        event: rule.event === undefined ? null : patternOf(rule.event),
        passes: rule.after ?? 0,
        strikes: rule.times ?? 1,
      });
    }
  }

  clear(): void {
    this.#rules = [];
  }

  /** Ends every delay. Its request is not processed, because the sandbox is about to close. */
  close(): void {
    this.#closing.abort();
  }

  /** Returns the rules that may still apply, in the order of their evaluation. */
  inForce(): readonly RuleInForce[] {
    return this.#rules.map(({ rule, passes, strikes }) => ({
      method: rule.method?.toUpperCase() ?? '*',
      path: rule.path,
      event: rule.event ?? null,
      passes,
      strikes,
      action: rule.action,
    }));
  }

  forDelivery(name: EventName): DeliveryHazard | null {
    const action = this.#strike(
      ({ rule, event }) => rule.path === webhookPath && (event === null || event.test(name)),
    );
    if (action === null) return null;
    const { status, delayMs, drop, lose, duplicate, hold } = action;
    return {
      ...defined({ status, delayMillis: delayMs, drop, lose, duplicate, hold }),
    };
  }

  async before(exchange: Exchange): Promise<Answer | null> {
    if (isOperatorPath(exchange.path)) return null;
    const action = this.#strike(
      ({ rule, pattern }) =>
        rule.path !== webhookPath &&
        (rule.method === undefined || rule.method === '*' || rule.method.toUpperCase() === exchange.method) &&
        pattern.test(exchange.path),
    );
    if (action === null) return null;
    this.#chosen.set(exchange, action);
    if (action.delayMs !== undefined) await exchange.services.clock.wait(action.delayMs, this.#closing);
    if (action.drop === true || this.#closing.aborted) return { status: 0, headers: {}, body: '' };
    return action.status === undefined ? null : faultAnswer(action.status, action, exchange);
  }

  send(exchange: Exchange, answer: Answer, response: ServerResponse): boolean {
    const action = this.#chosen.get(exchange);
    if (action?.drop === true) {
      response.destroy();
      return true;
    }
    const sent =
      action?.omit === undefined ? answer : withoutItems(answer, action.omit, action.recount === true);
    if (action?.truncate === undefined) {
      if (sent === answer) return false;
      response.writeHead(sent.status, sent.headers);
      response.end(sent.body);
      return true;
    }
    response.writeHead(sent.status, sent.headers);
    response.flushHeaders();
    response.write(Buffer.from(sent.body).subarray(0, action.truncate), () => response.destroy());
    return true;
  }

  #strike(matches: (active: ActiveRule) => boolean): FaultAction | null {
    for (const active of this.#rules) {
      if (!matches(active)) continue;
      if (active.passes > 0) {
        active.passes -= 1;
        continue;
      }
      active.strikes -= 1;
      if (active.strikes <= 0) this.#rules = this.#rules.filter((other) => other !== active);
      return active.rule.action;
    }
    return null;
  }
}

/** The path of a rule for deliveries. */
export const webhookPath = 'webhook';

/** Returns the pattern of a path or an event: `*` matches any text, `{name}` one segment. */
export function patternOf(path: string): RegExp {
  const parts = path.split(/(\*|\{[^}]*\})/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith('{') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}

/** Builds the response of a fault: the body of the rule, or the usual body for the status. */
function faultAnswer(status: number, action: FaultAction, exchange: Exchange): Answer {
  if (action.body !== undefined) {
    const text = typeof action.body === 'string';
    return {
      status,
      headers: { 'content-type': text ? 'text/plain' : 'application/json', ...lowerCase(action.headers) },
      body: text ? (action.body as string) : JSON.stringify(action.body),
    };
  }
  const usual = usualAnswer(status, exchange);
  return { ...usual, headers: { ...usual.headers, ...lowerCase(action.headers) } };
}

function usualAnswer(status: number, exchange: Exchange): Answer {
  if (status in errorTypes) {
    const known = status as ErrorStatus;
    const reset = Math.floor(exchange.now / 1000) + 1;
    const about =
      known === 429
        ? {
            details: { limit: 1000, period: 'hour', retry_after: 1 },
            headers: {
              'X-RateLimit-Limit': '1000',
              'X-RateLimit-Remaining': '0',
              'X-RateLimit-Reset': String(reset),
            },
          }
        : {};
    return problemAnswer(
      new Problem(known, errorTypes[known][0], 'This error was injected by a fault rule.', about),
      exchange.requestId,
    );
  }
  // An edge server that cannot reach the service returns its own HTML.
  const body = status >= 500 ? '<html><body>The service is unavailable.</body></html>' : '';
  return { status, headers: { 'content-type': 'text/html' }, body };
}

const lowerCase = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
