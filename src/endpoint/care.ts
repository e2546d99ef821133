import type { Api } from '../client/api.js';
import {
  createEndpoint,
  listEndpoints,
  reenableEndpoint,
  rotateSecret,
  updateEndpoint,
  type WebhookEndpoint,
} from '../client/webhook-endpoints.js';
import type { EndpointConfig } from '../config/config.js';
import { Fault, type FaultCode, isFault } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { nextStep, type Step } from './plan.js';
import {
  blockedHealth,
  type EndpointHealth,
  type EndpointState,
  liveSecrets,
  readEndpointState,
  unknownEndpoint,
  withSecret,
  writeEndpointState,
} from './state.js';

/*
 * Looks after the receiver's own webhook endpoint: makes it, keeps it switched on, replaces its secret. Polling
 * keeps the mirror right without any of it, so nothing here ever stops the daemon: what fails is written down,
 * said, and tried again at the next look.
 *
 * A secret is on disk before deliveries are verified with it. A rotation is announced on disk before it is asked
 * for, because an answer that got lost would otherwise go unnoticed until the old secret ends a day later.
 */

export interface EndpointCareParts {
  readonly api: Api;
  readonly wanted: EndpointConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something may have been missed and is not sent again: every source has to look. */
  readonly catchUp: () => void;
}

export interface EndpointCare extends Closable {
  /** Reads what an earlier run knew, so that its deliveries verify from the first one on. */
  load(): Promise<void>;
  start(): void;
  /** Secrets deliveries are signed with now, newest first. */
  secrets(): readonly string[];
}

/** Create, learn, update and reenable are the longest way there is. */
const stepsMax = 6;

/** Health is written when it says something new, and now and then so that its time does not look stale. */
const retellMillis = 3_600_000;

/** After these nobody knows whether the request was carried out. */
const unsure: readonly FaultCode[] = [
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

  constructor(parts: EndpointCareParts) {
    this.#parts = parts;
  }

  async load(): Promise<void> {
    try {
      this.#state = await readEndpointState(this.#parts.wanted.file);
      this.#reenabledAt = this.#state.health?.reenabledAt ?? null;
      this.#loaded = true;
    } catch (error) {
      this.#parts.logger.error(
        { error, file: this.#parts.wanted.file },
        'the endpoint cannot be looked after',
      );
    }
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

  /** One look. Never throws; answers how long the platform wants to be left alone. */
  async #look(): Promise<Instant | undefined> {
    try {
      if (!this.#loaded) {
        this.#state = await readEndpointState(this.#parts.wanted.file);
        this.#loaded = true;
      }
      await this.#tell(healthOf(await this.#mend(), this.#parts.clock.now()));
      return undefined;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      const fault = isFault(error) ? error : new Fault('internal', 'a defect of rosterd', { cause: error });
      if (!isFault(error)) this.#parts.logger.error({ error }, 'looking after the endpoint met a defect');
      await this.#tell(blockedHealth(this.#state.health, fault, this.#parts.clock.now())).catch(
        (unwritten: unknown) =>
          this.#parts.logger.warn(
            { error: unwritten },
            'how the endpoint is doing could not be written down',
          ),
      );
      return fault.about.retryAt;
    }
  }

  async #mend(): Promise<WebhookEndpoint> {
    const { api, wanted, clock } = this.#parts;
    const { signal } = this.#stop;
    let listed = (await listEndpoints(api, signal)).endpoints;
    for (let steps = 0; steps < stepsMax; steps += 1) {
      const step = nextStep(this.#state, listed, wanted, clock.now());
      if (step.kind === 'rest') return step.endpoint;
      const changed = await this.#take(step);
      listed = [changed, ...listed.filter(({ id }) => id !== changed.id)];
    }
    throw new Error('the endpoint does not come to rest');
  }

  async #take(step: Exclude<Step, { kind: 'rest' }>): Promise<WebhookEndpoint> {
    const { api, wanted, clock, logger, catchUp } = this.#parts;
    const { signal } = this.#stop;
    switch (step.kind) {
      case 'create': {
        const { publicUrl: url, events, mode } = wanted;
        const { endpoint, secret } = await createEndpoint(api, { url, events, mode }, signal);
        // Bound ones are made once: asking again shows the endpoint, and no secret.
        if (secret !== null) await this.#keep(withSecret(this.#state, endpoint.id, secret, clock.now()));
        logger.info({ endpoint: endpoint.id, mode }, 'webhook endpoint created');
        catchUp();
        return endpoint;
      }
      case 'rotate': {
        const endpoint = await this.#rotate(step.id);
        logger.info({ endpoint: step.id, trigger: step.why }, 'signing secret rotated');
        // Deliveries refused meanwhile are sent again, yet those given up on are not.
        if (step.why !== 'due') catchUp();
        return endpoint;
      }
      case 'update': {
        const endpoint = await updateEndpoint(api, step.id, step.change, signal);
        logger.info({ endpoint: step.id }, 'webhook endpoint changed to what the configuration says');
        return endpoint;
      }
      case 'reenable': {
        const endpoint = await reenableEndpoint(api, step.id, signal);
        this.#reenabledAt = instantFromMillis(clock.now());
        logger.warn(
          { endpoint: step.id },
          'the platform had switched the webhook endpoint off; it is on again',
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
    try {
      const { endpoint, secret } = await rotateSecret(api, id, this.#stop.signal);
      if (secret === null) throw new Fault('contract_broken', 'a rotation was answered without a secret');
      await this.#keep(withSecret(this.#state, id, secret, clock.now()));
      return endpoint;
    } catch (error) {
      if (isFault(error) && !unsure.includes(error.code)) await this.#keep(before);
      throw error;
    }
  }

  /** On disk first, since deliveries are verified with what is remembered; ended secrets are left out. */
  async #keep(state: EndpointState): Promise<void> {
    const kept = { ...state, secrets: liveSecrets(state, this.#parts.clock.now()) };
    await writeEndpointState(this.#parts.wanted.file, kept);
    this.#state = kept;
  }

  async #tell(found: EndpointHealth): Promise<void> {
    const { clock, logger } = this.#parts;
    const now = clock.now();
    const before = this.#state.health;
    const health: EndpointHealth = { ...found, reenabledAt: this.#reenabledAt };
    const news = before?.state !== health.state || before.code !== health.code;
    if (news && health.state === 'blocked') {
      logger.warn(
        { ...(health.code === null ? {} : { code: health.code }), hint: health.hint ?? health.message ?? '' },
        'the webhook endpoint cannot be looked after; polling goes on',
      );
    } else if (news && health.state === 'failing')
      logger.warn({ state: health.lastDeliveryStatus ?? '' }, 'webhooks do not arrive; polling goes on');
    else if (news && before !== null) logger.info({}, 'webhooks arrive again');
    const stale = before === null || now - millisOf(before.checkedAt) >= retellMillis;
    const said = (one: EndpointHealth | null) =>
      JSON.stringify({ ...one, checkedAt: null, lastDeliveryAt: null });
    // A file that cannot even be read is not written over.
    if (this.#loaded && (stale || said(before) !== said(health)))
      await this.#keep({ ...this.#state, health });
  }
}

function healthOf(endpoint: WebhookEndpoint, now: number): EndpointHealth {
  const { failingSince, lastDeliveryAt, lastDeliveryStatus } = endpoint;
  return {
    checkedAt: instantFromMillis(now),
    reenabledAt: null,
    state: failingSince === null ? 'ok' : 'failing',
    ...{ failingSince, lastDeliveryAt, lastDeliveryStatus },
    code: null,
    message: failingSince === null ? null : `deliveries have failed since ${failingSince}`,
    hint: failingSince === null ? null : 'check that receiver.endpoint.publicUrl leads to receiver.listen',
  };
}
