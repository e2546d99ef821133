import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { HeaderNames } from '../wire/headers.js';
import { paths } from '../wire/paths.js';
import { type Api, createApi } from './api.js';
import { type BudgetRule, tokenEndpointRule, tokenRule } from './budget.js';
import { Budgets, type Quota } from './budgets.js';
import type { Fetch, WireFetch } from './fetch/fetch.js';
import { withAuth } from './fetch/with-auth.js';
import { tokenKey, withBudget } from './fetch/with-budget.js';
import { type Caps, withCaps } from './fetch/with-caps.js';
import { defaultRetryPlan, Outage, type RetryPlan, withRetry } from './fetch/with-retry.js';
import { withTimeout } from './fetch/with-timeout.js';
import { withVersion } from './fetch/with-version.js';
import { PlatformTime } from './platform-time.js';
import type { BudgetStore } from './ports.js';
import type { TokenProvider } from './tokens/token-provider.js';

export interface ClientOptions {
  readonly baseUrl: string;
  readonly version: string;
  readonly names: HeaderNames;
  /** `openConnectionPool().fetch`, or in tests whatever stands for it. */
  readonly wire: WireFetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budgets: BudgetStore;
  /** Requests a token may make in an hour; null against a platform without limits. */
  readonly requestsPerHour?: number | null;
  /** The longest a single request may take, its body included. */
  readonly timeoutMillis?: number;
  readonly caps?: Caps;
  readonly retry?: RetryPlan;
}

/** One client for a platform; every source in the process shares its connections, budgets and idea of the time. */
export interface Client {
  readonly time: PlatformTime;
  /** The API as this token sees it. */
  as(tokens: TokenProvider): Api;
  /** The API without a credential. The token endpoint counts per client, so its budget is the client's. */
  asApplication(clientId: string): Api;
  /** What is left of the quota of the token these last sent; null before they did, or where nobody counts. */
  quotaOf(tokens: TokenProvider): Promise<Quota | null>;
}

/**
 * The layers, outermost first, and why in this order:
 *
 *   retry     sees everything below as one try, a spent budget included
 *   auth      its second request after a 401 is no retry: it has an allowance of its own
 *   budget    below auth, because each request that goes out counts, and because it counts per token
 *   timeout   per request on the wire: waiting for a budget or a refresh is not the server being slow
 *   version   on everything that goes out
 *   time      hears every answer
 *   caps      reads the body, so that all above deal with whole answers
 */
export function createClient(options: ClientOptions): Client {
  const { clock, random, logger, names } = options;
  const time = new PlatformTime(clock);
  const wire = withTimeout(
    withVersion(time.listen(withCaps(options.wire, options.caps)), names, options.version),
    clock,
    options.timeoutMillis ?? 30_000,
  );
  const api = (fetch: Fetch) => createApi({ baseUrl: options.baseUrl, fetch, names, clock });
  const askTime = async (signal: Interruption) => {
    try {
      await api(wire)({ path: paths.discovery, signal });
    } catch (error) {
      // Whatever it answered, its `Date` was heard; without an answer we stay with what we believed.
      if (!isFault(error) || error.code === 'stopped') throw error;
    }
  };
  const budgets = new Budgets({ store: options.budgets, time, logger, askTime });
  const outage = new Outage();
  const retried = (fetch: Fetch) =>
    withRetry(fetch, { plan: options.retry ?? defaultRetryPlan, clock, random, logger, outage });
  const counted = (rule: BudgetRule, keyOf: Parameters<typeof withBudget>[4]) =>
    withBudget(wire, budgets, time, rule, keyOf);
  const rule = options.requestsPerHour === null ? null : tokenRule(options.requestsPerHour);
  // A refreshed token has a budget of its own, so what counts is the one that went out last.
  const lastKeys = new WeakMap<TokenProvider, string>();
  const perToken = (tokens: TokenProvider): Fetch =>
    rule === null
      ? wire
      : counted(rule, (call) => {
          const key = tokenKey(call);
          lastKeys.set(tokens, key);
          return key;
        });
  return {
    time,
    as: (tokens) => api(retried(withAuth(perToken(tokens), tokens))),
    asApplication: (clientId) => api(retried(counted(tokenEndpointRule, () => `client:${clientId}`))),
    quotaOf: async (tokens) => {
      const key = lastKeys.get(tokens);
      return rule === null || key === undefined ? null : await budgets.quota(key, rule);
    },
  };
}
