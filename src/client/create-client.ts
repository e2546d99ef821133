import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { HeaderNames } from '../wire/headers.js';
import { paths } from '../wire/paths.js';
import { type Api, createApi } from './api.js';
import { addressRule, type BudgetRule, tokenEndpointRule, tokenRule } from './budget.js';
import { Budgets, type CountLeft, leastOf, type Quota } from './budgets.js';
import type { Call, Fetch, WireFetch } from './fetch/fetch.js';
import { withAuth } from './fetch/with-auth.js';
import { addressKey, keyOfToken, tokenKey, withBudget } from './fetch/with-budget.js';
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
  /** `openConnectionPool().fetch`, or a stand-in in tests. */
  readonly wire: WireFetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budgets: BudgetStore;
  /** Requests a token may make in an hour; null for a platform without limits. */
  readonly requestsPerHour?: number | null;
  /** Timeout of a single request, its body included. */
  readonly timeoutMillis?: number;
  readonly caps?: Caps;
  readonly retry?: RetryPlan;
}

/** What is left of a limit. All tokens with the same `key` share it. */
export interface LimitLeft extends CountLeft {
  readonly key: string;
  readonly kind: 'token' | 'address';
}

/** One client per platform. All sources in the process share its connections, budgets and platform clock. */
export interface Client {
  readonly time: PlatformTime;
  /** Returns what is left of the requests that all tokens may make together; null while that is not known. */
  addressLeft(): LimitLeft | null;
  /** Asks the platform for its time: one request without a token. Failures are ignored. Throws `stopped`. */
  askTime(signal: Interruption): Promise<void>;
  /** Returns the API authenticated with this token. */
  as(tokens: TokenProvider): Api;
  /**
   * Returns the same for reads that must not hold up those of the feed. They count against the token's budget, but a
   * limit per address or of another endpoint blocks only them, and their failures are not taken for an outage.
   */
  besides(tokens: TokenProvider): Api;
  /** Returns the API without a credential. The token endpoint counts per client, so the budget is the client's. */
  asApplication(clientId: string): Api;
  /**
   * Returns what is left of the quota of the token last sent by `tokens`; null before it sent one, or without limits.
   */
  quotaOf(tokens: TokenProvider): Promise<Quota | null>;
  /** Returns what is left of every limit that requests of `tokens` count against, as far as known now. */
  limitsOf(tokens: TokenProvider): readonly LimitLeft[];
  /**
   * Reads what other processes have left of the quota of `tokens`, if this process uses it too. Before `tokens` sent a
   * request, finds out which quota that is.
   */
  refreshLimits(tokens: TokenProvider, signal: Interruption): Promise<void>;
}

/** Its caller has all day: one retry, and none after a 429. */
const besidesPlan: RetryPlan = { ...defaultRetryPlan, failuresMax: 1, rateLimitsMax: 0 };

/**
 * The count of an address is not stored: the next process may have another address, and a member of a fleet has its
 * own.
 */
const unstored: BudgetStore = { load: async () => null, save: async () => {} };

/**
 * The layers, outermost first, and the reason for the order:
 *
 *   retry     one attempt covers everything below, a used-up budget included
 *   auth      its second request after a 401 is not a retry: it has its own allowance
 *   budget    below auth, because every request sent counts, per token and per address
 *   timeout   per request on the wire: waiting for a budget or a refresh is not the server being slow
 *   version   on every request
 *   time      reads the `Date` of every response
 *   caps      reads the body, so all layers above handle complete responses
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
      // Any response carries a `Date`, which was recorded. Without a response the previous estimate stays.
      if (!isFault(error) || error.code === 'stopped') throw error;
    }
  };
  const budgets = new Budgets({ store: options.budgets, time, logger, askTime });
  const outage = new Outage();
  const retried = (fetch: Fetch) =>
    withRetry(fetch, { plan: options.retry ?? defaultRetryPlan, clock, random, logger, outage });
  const retriedBesides = (fetch: Fetch) =>
    withRetry(fetch, { plan: besidesPlan, clock, random, logger, outage: new Outage() });
  const rule = options.requestsPerHour === null ? null : tokenRule(options.requestsPerHour);
  const addressBudgets = new Budgets({ store: unstored, time, logger, askTime });
  const address = addressRule(rule?.limit ?? 0);
  const addressed =
    rule === null || address === null
      ? wire
      : withBudget(wire, addressBudgets, time, address, () => addressKey);
  const counted = (rule: BudgetRule, keyOf: (call: Call) => string, isAside = false) =>
    withBudget(addressed, budgets, time, rule, keyOf, isAside);
  // A refreshed token has its own budget, so the token sent last counts.
  const lastKeys = new WeakMap<TokenProvider, string>();
  const perToken = (tokens: TokenProvider, isAside = false): Fetch =>
    rule === null
      ? wire
      : counted(
          rule,
          (call) => {
            const key = tokenKey(call);
            lastKeys.set(tokens, key);
            return key;
          },
          isAside,
        );
  const ofAddress = (): readonly LimitLeft[] =>
    address === null
      ? []
      : addressBudgets
          .left(addressKey, address)
          .map((left) => ({ ...left, key: addressKey, kind: 'address' }));
  return {
    time,
    addressLeft: () => leastOf(ofAddress()),
    askTime,
    besides: (tokens) => api(retriedBesides(withAuth(perToken(tokens, true), tokens))),
    as: (tokens) => api(retried(withAuth(perToken(tokens), tokens))),
    asApplication: (clientId) => api(retried(counted(tokenEndpointRule, () => `client:${clientId}`))),
    quotaOf: async (tokens) => {
      const key = lastKeys.get(tokens);
      return rule === null || key === undefined ? null : await budgets.quota(key, rule);
    },
    refreshLimits: async (tokens, signal) => {
      if (rule === null) return;
      const key = lastKeys.get(tokens) ?? keyOfToken(await tokens.current(signal));
      // A request may have been sent meanwhile, with a newer token.
      if (!lastKeys.has(tokens)) lastKeys.set(tokens, key);
      await budgets.refresh(key, rule);
    },
    limitsOf: (tokens) => {
      const key = lastKeys.get(tokens);
      const ofToken =
        rule === null || key === undefined
          ? []
          : budgets.left(key, rule).map((left): LimitLeft => ({ ...left, key, kind: 'token' }));
      return [...ofToken, ...ofAddress()];
    },
  };
}
