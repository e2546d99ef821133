import type { Api } from '../client/api.js';
import {
  createEndpoint,
  getEndpoint,
  listEndpoints,
  reenableEndpoint,
  rotateSecret,
  updateEndpoint,
  type WebhookEndpoint,
} from '../client/webhook-endpoints.js';
import type { EndpointConfig } from '../config/config.js';
import { Fault, type FaultCode, isFault, sentenceOf } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { LogFields, Logger } from '../runtime/logger.js';
import { rareWarning } from '../runtime/rare-warning.js';
import { conflictingEndpoint, ofOtherMode } from './bound.js';
import { healthOf } from './health.js';
import { nextStep, type Step } from './plan.js';
import {
  blockedHealth,
  type EndpointHealth,
  type EndpointState,
  liveSecrets,
  unknownEndpoint,
  withSecret,
} from './state.js';
import type { EndpointStore } from './state-store.js';

/*
 * Manages the receiver's own webhook endpoint: creates it, keeps it enabled and rotates its secret. Polling alone keeps
 * the mirror correct, so a failure here never stops the daemon: it is stored, logged and retried at the next check.
 *
 * A new secret is stored before it is used to verify deliveries. A rotation is recorded before it is requested:
 * otherwise a lost response would go unnoticed until the old secret expires a day later.
 *
 * In a fleet with a vault, every host runs this. The check is due by the time of the last one, whichever host made it,
 * and a host makes it under the lock of the entry, from the state that is stored then. So any host may die at any step:
 * the next one goes on from there.
 */

export interface EndpointCareParts {
  readonly api: Api;
  readonly wanted: EndpointConfig;
  readonly store: EndpointStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when webhooks may have been missed that are not resent: every source must sync. */
  readonly catchUp: () => void;
  /** Called after each check: with why its result could not be stored, so that it is still reported; with null otherwise. */
  readonly unstored: (problem: string | null) => void;
}

export interface EndpointCare extends Closable {
  /** Whether other hosts rotate the secrets, too. */
  readonly shared: boolean;
  /** Loads the state of an earlier run, so that deliveries verify from the first one on. */
  load(): Promise<void>;
  start(): void;
  /** Returns the secrets that currently sign deliveries, newest first. */
  secrets(): readonly string[];
  /** Reads what another host may have stored meanwhile. Never throws. */
  reread(): Promise<void>;
}

/** Enough for the longest sequence: create, rotate, update and reenable, with room to spare. */
const stepsMax = 6;

/** Health is stored when it changes, and at this interval so that its time does not look stale. */
const rewriteMillis = 3_600_000;

/** A check of another host within this share of the interval counts as the own one: hosts do not look at one moment. */
const freshShare = 0.9;

/** After these faults it is unknown whether the platform executed the request. */
const outcomeUnknown: readonly FaultCode[] = [
  'unreachable',
  'platform_error',
  'contract_broken',
  'stopped',
  'internal',
];

export function createEndpointCare(parts: EndpointCareParts): EndpointCare {
  return new Care(parts);
}

class Care implements EndpointCare {
  readonly #parts: EndpointCareParts;
  readonly #stop = new AbortController();
  #state: EndpointState = unknownEndpoint;
  #loaded = false;
  #running: Promise<void> | undefined;
  #reenabledAt: Instant | null = null;
  #rereading: Promise<void> | undefined;
  /** The first check of a process follows its configuration, which may be new. */
  #checked = false;
  /** When the last delivery was attempted before the first check of this process. */
  #deliveryBefore: { readonly at: string | null } | undefined;
  /** Endpoints of another mode that were logged. */
  readonly #named = new Set<string>();
  /** Counts the states that this process stored. */
  #keptCount = 0;

  /** Each delivery with an unknown signature reads them, once a second. */
  readonly #warnUnread: (fields: LogFields) => void;

  constructor(parts: EndpointCareParts) {
    this.#parts = parts;
    const unread = 'the signing secrets cannot be read; the ones read before stay in use';
    this.#warnUnread = rareWarning(parts.clock, parts.logger, unread);
  }

  get shared(): boolean {
    return this.#parts.store.shared;
  }

  async load(): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      this.#parts.logger.error(
        { error, file: this.#parts.store.place },
        'the webhook endpoint cannot be managed',
      );
    }
  }

  async reread(): Promise<void> {
    if (!this.shared) return;
    this.#rereading ??= this.#read()
      .catch((error: unknown) => this.#warnUnread({ error }))
      .finally(() => {
        this.#rereading = undefined;
      });
    await this.#rereading;
  }

  async #read(): Promise<void> {
    const before = this.#keptCount;
    const state = await this.#parts.store.read();
    // This host stored a newer state while this one was on its way.
    if (before !== this.#keptCount) return;
    this.#state = state;
    this.#reenabledAt = state.health?.reenabledAt ?? this.#reenabledAt;
    this.#loaded = true;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  secrets(): readonly string[] {
    return liveSecrets(this.#state, this.#parts.clock.now()).map(({ value }) => value);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, wanted } = this.#parts;
    while (!this.#stop.signal.aborted) {
      const until = await this.#look();
      const wait = Math.max(wanted.checkMillis, until === undefined ? 0 : millisOf(until) - clock.now());
      await clock.wait(wait, this.#stop.signal);
    }
  }

  /** Checks and repairs the endpoint once, unless another host just did. Never throws. Returns the platform's `retryAt`. */
  async #look(): Promise<Instant | undefined> {
    const { store } = this.#parts;
    if (!store.shared) return await this.#check();
    try {
      return await store.withLock(this.#stop.signal, async () => {
        await this.#read();
        const isFresh = this.#checked && this.#isFresh();
        this.#checked = true;
        if (!isFresh) return await this.#check();
        // What could not be stored here before, another host has stored since.
        this.#parts.unstored(null);
        return undefined;
      });
    } catch (error) {
      // The server is away, or another host has the lock: nothing may be stored without it.
      if (!this.#stop.signal.aborted)
        this.#parts.logger.warn({ error, file: store.place }, 'the webhook endpoint was not checked');
      return undefined;
    }
  }

  #isFresh(): boolean {
    const { clock, wanted } = this.#parts;
    const { health } = this.#state;
    if (health === null) return false;
    // A host that cannot manage the endpoint does not keep the others from it.
    if (health.state === 'blocked' && health.code !== 'rate_limited') return false;
    const age = clock.now() - millisOf(health.checkedAt);
    return age >= 0 && age < wanted.checkMillis * freshShare;
  }

  async #check(): Promise<Instant | undefined> {
    try {
      if (!this.#loaded) await this.#read();
      const endpoint = await this.#reconcile();
      this.#deliveryBefore ??= { at: endpoint.lastDeliveryAt };
      const known = { before: this.#state.health, deliveryBefore: this.#deliveryBefore.at };
      await this.#report(healthOf(endpoint, known, this.#parts.clock.now()));
      return undefined;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      const fault = isFault(error) ? error : new Fault('internal', 'a bug in rosterd', { cause: error });
      if (!isFault(error))
        this.#parts.logger.error({ error }, 'an internal error while managing the webhook endpoint');
      const health = blockedHealth(this.#state.health, fault, this.#parts.clock.now());
      await this.#report(health).catch((error: unknown) => this.#reportUnstored(error));
      return fault.about.retryAt;
    }
  }

  async #reconcile(): Promise<WebhookEndpoint> {
    const { api, wanted, clock } = this.#parts;
    const { signal } = this.#stop;
    let listed = await this.#withOwn((await listEndpoints(api, signal)).endpoints);
    this.#nameOthers(listed);
    for (let steps = 0; steps < stepsMax; steps += 1) {
      const step = nextStep(this.#state, listed, wanted, clock.now());
      if (step.kind === 'rest') return step.endpoint;
      const changed = await this.#take(step, listed);
      listed = [changed, ...listed.filter(({ id }) => id !== changed.id)];
    }
    throw new Error('the endpoint still needs changes after the maximum number of steps');
  }

  /**
   * Adds the stored endpoint to a list that lacks it, if the platform knows it: a list may be incomplete, and another
   * endpoint would be created beside it.
   */
  async #withOwn(listed: readonly WebhookEndpoint[]): Promise<readonly WebhookEndpoint[]> {
    const { id } = this.#state;
    if (id === null || listed.some((one) => one.id === id)) return listed;
    try {
      return [await getEndpoint(this.#parts.api, id, this.#stop.signal), ...listed];
    } catch (error) {
      if (isFault(error, 'refused') || isFault(error, 'forbidden')) return listed;
      throw error;
    }
  }

  /** Once for each: it may be meant, and its deliveries verified by `receiver.secrets`. */
  #nameOthers(listed: readonly WebhookEndpoint[]): void {
    const { wanted, logger } = this.#parts;
    for (const { id, mode } of ofOtherMode(listed, wanted)) {
      if (this.#named.has(id)) continue;
      this.#named.add(id);
      logger.warn(
        { endpoint: id, mode, hint: `if it is no longer needed: rosterd endpoints delete ${id}` },
        'a webhook endpoint of another mode has this address, too',
      );
    }
  }

  async #take(
    step: Exclude<Step, { kind: 'rest' }>,
    listed: readonly WebhookEndpoint[],
  ): Promise<WebhookEndpoint> {
    const { api, wanted, clock, logger, catchUp } = this.#parts;
    const { signal } = this.#stop;
    switch (step.kind) {
      case 'create': {
        const { publicUrl: url, events, mode } = wanted;
        const { endpoint, secret } = await createEndpoint(api, { url, events, mode }, signal).catch(
          (error: unknown) => {
            if (!isFault(error) || error.about.status !== 409) throw error;
            return { endpoint: conflictingEndpoint(listed, wanted, error), secret: null };
          },
        );
        // A bound endpoint is created only once. After its state was lost, it is adopted, and the next step rotates.
        if (secret === null) {
          await this.#keep({ ...this.#state, id: endpoint.id, url, secrets: [], rotationAskedAt: null });
          logger.info({ endpoint: endpoint.id, mode }, 'webhook endpoint found again');
          return endpoint;
        }
        await this.#keep({ ...withSecret(this.#state, endpoint.id, secret, clock.now()), url });
        logger.info({ endpoint: endpoint.id, mode }, 'webhook endpoint created');
        catchUp();
        return endpoint;
      }
      case 'rotate': {
        const endpoint = await this.#rotate(step.id);
        logger.info({ endpoint: step.id, trigger: step.why }, 'signing secret rotated');
        // The platform resends rejected deliveries, except those it has given up on.
        if (step.why !== 'due') catchUp();
        return endpoint;
      }
      case 'update': {
        const endpoint = await updateEndpoint(api, step.id, step.change, signal);
        const { url } = step.change;
        if (url !== undefined) await this.#keep({ ...this.#state, url });
        logger.info({ endpoint: step.id }, 'webhook endpoint updated to match the configuration');
        return endpoint;
      }
      case 'reenable': {
        const endpoint = await reenableEndpoint(api, step.id, signal);
        this.#reenabledAt = instantFromMillis(clock.now());
        logger.warn(
          { endpoint: step.id },
          'the platform had disabled the webhook endpoint; it is enabled again',
        );
        catchUp();
        return endpoint;
      }
    }
  }

  async #rotate(id: string): Promise<WebhookEndpoint> {
    const { api, clock } = this.#parts;
    const before = this.#state;
    await this.#keep({ ...before, rotationAskedAt: instantFromMillis(clock.now()) });
    const { endpoint, secret } = await rotateSecret(api, id, this.#stop.signal).catch(
      async (error: unknown) => {
        if (isFault(error) && !outcomeUnknown.includes(error.code)) await this.#keep(before);
        throw error;
      },
    );
    if (secret === null) throw new Fault('contract_broken', 'the platform returned no secret for a rotation');
    // When this fails, the state still says that a rotation was requested: the secret is lost, or was stored after all.
    await this.#keep(withSecret(this.#state, id, secret, clock.now()));
    return endpoint;
  }

  /** Stores the state, without expired secrets, before using it to verify deliveries. */
  async #keep(state: EndpointState): Promise<void> {
    const kept = { ...state, secrets: liveSecrets(state, this.#parts.clock.now()) };
    await this.#parts.store.write(kept);
    this.#keptCount += 1;
    this.#state = kept;
  }

  async #report(found: EndpointHealth): Promise<void> {
    const { clock, logger } = this.#parts;
    const now = clock.now();
    const before = this.#state.health;
    const health: EndpointHealth = { ...found, reenabledAt: this.#reenabledAt };
    const changed = before?.state !== health.state || before.code !== health.code;
    if (changed && health.state === 'blocked') {
      logger.warn(
        { ...(health.code === null ? {} : { code: health.code }), hint: health.hint ?? health.message ?? '' },
        'the webhook endpoint cannot be managed; polling continues',
      );
    } else if (changed && health.state === 'failing')
      logger.warn({ state: health.lastDeliveryStatus ?? '' }, 'webhooks do not arrive; polling continues');
    else if (changed && before?.state === 'failing') logger.info({}, 'webhooks arrive again');
    else if (changed && before?.state === 'blocked')
      logger.info({}, 'the webhook endpoint can be managed again');
    const age = before === null ? Number.POSITIVE_INFINITY : now - millisOf(before.checkedAt);
    // Other hosts see by the time whether a check is due. A time in the future is of a clock that was ahead.
    const stale = this.#parts.store.shared || age < 0 || age >= rewriteMillis;
    const comparable = (one: EndpointHealth | null) =>
      JSON.stringify({ ...one, checkedAt: null, lastDeliveryAt: null });
    // Do not overwrite a file that could not be read.
    if (this.#loaded && (stale || comparable(before) !== comparable(health)))
      await this.#keep({ ...this.#state, health });
    this.#parts.unstored(null);
  }

  #reportUnstored(error: unknown): void {
    const { logger, store, unstored } = this.#parts;
    logger.warn({ error, file: store.place }, 'the state of the webhook endpoint could not be stored');
    const why = sentenceOf(error, `${store.place} cannot be written`);
    unstored(`the webhook endpoint cannot be managed, because its state cannot be stored: ${why}`);
  }
}
