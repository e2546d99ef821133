import type { Engine } from '../../src/daemon/engine.js';
import { resolveSources } from '../../src/daemon/resolve-sources.js';
import { openDrain } from '../../src/daemon/start-drain.js';
import { alone } from '../../src/fleet/membership.js';
import { createReceiver, type Receiver } from '../../src/inbox/receiver.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import type { Realm } from '../../src/platform/state/secrets.js';
import { one } from '../../src/platform/state/statements.js';
import { dueDeliveries } from '../../src/platform/webhooks/deliveries.js';
import { rotateSecret, signingSecrets } from '../../src/platform/webhooks/endpoint-secrets.js';
import { enableEndpoint, endpointById, insertEndpoint } from '../../src/platform/webhooks/endpoints.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { Lifecycle } from '../../src/runtime/lifecycle.js';
import { silentLogger } from '../../src/runtime/logger.js';

const path = '/webhooks';

/**
 * An endpoint of the platform and the receiver behind it, which is only there while the machine is on. The platform
 * rotates the secret; whoever runs the machine learns the new one later, within the day in which both are valid.
 */
export class Webhooks {
  /** Events answered with success and not yet found in the inbox, by id. */
  readonly accepted = new Map<string, number>();
  /** Of the receivers so far, by their results. */
  readonly results: Record<string, number> = {};
  disabled = 0;
  #secrets: readonly string[] = [];
  #port = 0;
  #endpointNo: number | null = null;
  #up: { readonly engine: Engine; readonly receiver: Receiver; readonly lifecycle: Lifecycle } | null = null;

  constructor(
    readonly sandbox: Sandbox,
    readonly owner: { readonly applicationNo: number; readonly realm: Realm },
  ) {}

  /** Starts the receiver; the first time, the endpoint is made too. */
  async open(engine: Engine, clock: Clock): Promise<void> {
    const lifecycle = new Lifecycle();
    const drain = openDrain(engine, alone, { clock, logger: silentLogger }, lifecycle);
    const receiver = createReceiver({
      inbox: engine.mirror.inbox,
      path,
      signatureHeader: 'Service-Signature',
      secrets: () => this.#secrets,
      resolveSources: (event) => resolveSources(engine.sources, event),
      onAccepted: ({ eventId }, sources) => {
        this.accepted.set(eventId, this.sandbox.clock.now());
        drain.accepted(sources);
      },
      clock,
      logger: silentLogger,
    });
    lifecycle.add('receiver', () => receiver.close());
    this.#up = { engine, receiver, lifecycle };
    await drain.start();
    const { port } = await receiver.listen(this.#port, '127.0.0.1');
    this.#port = port;
    if (this.#endpointNo === null) this.#register();
  }

  async close(): Promise<void> {
    const up = this.#up;
    if (up === null) return;
    this.#up = null;
    for (const [name, count] of Object.entries(up.receiver.status().results))
      this.results[name] = (this.results[name] ?? 0) + count;
    await up.lifecycle.close();
  }

  get counts(): Readonly<Record<string, number>> {
    return {
      'webhooks accepted': this.accepted.size,
      'webhooks refused by a wrong clock': this.results.timestamp_out_of_tolerance ?? 0,
      'endpoint enabled again': this.disabled,
    };
  }

  /** Returns refusals that neither a wrong clock nor a machine that is off explains. */
  unexpected(): readonly string[] {
    const explained = new Set(['accepted', 'duplicate', 'timestamp_out_of_tolerance']);
    return Object.entries(this.results).flatMap(([result, count]) =>
      explained.has(result) || count === 0 ? [] : [`${count} deliveries: ${result}`],
    );
  }

  /** Makes a new secret on the platform. The one before signs for another day. */
  rotate(): void {
    const { state, random, clock } = this.sandbox.services;
    if (this.#endpointNo !== null) rotateSecret(state, random, this.#endpointNo, clock.now());
  }

  /** Writes the newest secret to the machine, as whoever rotated it does a few hours later. */
  learnSecret(): void {
    const { state, clock } = this.sandbox.services;
    if (this.#endpointNo !== null)
      this.#secrets = signingSecrets(state, this.#endpointNo, clock.now()).slice(0, 1);
  }

  /** The platform disables an endpoint that failed for days; its owner enables it again. */
  enable(): void {
    const { state } = this.sandbox.services;
    const endpoint = one<{ enabled: number }>(state, 'SELECT enabled FROM webhook_endpoints WHERE no = ?', [
      this.#endpointNo,
    ]);
    if (this.#endpointNo === null || endpoint?.enabled !== 0) return;
    enableEndpoint(state, this.#endpointNo);
    this.disabled += 1;
  }

  /** Resolves when every delivery that is due was tried, and the ticks that this started are over. */
  async settled(): Promise<void> {
    const { state, clock } = this.sandbox.services;
    const begun = systemClock.monotonic();
    while (this.#endpointNo !== null && dueDeliveries(state, this.#endpointNo, clock.now(), 1).length > 0) {
      if (systemClock.monotonic() - begun > 60_000) throw new Error('deliveries are due and were not tried');
      await systemClock.wait(1);
    }
    await this.#up?.engine.sync.idle();
  }

  #register(): void {
    const { state, random, clock } = this.sandbox.services;
    const { applicationNo, realm } = this.owner;
    const { id, secret } = insertEndpoint(
      state,
      random,
      {
        applicationNo,
        installationNo: null,
        mode: realm,
        url: `http://127.0.0.1:${this.#port}${path}`,
        events: ['investment.changed'],
      },
      clock.now(),
    );
    this.#endpointNo = endpointById(state, applicationNo, id)?.no ?? null;
    this.#secrets = [secret];
  }
}
