import type { ReceiverConfig } from '../config/config.js';
import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import { createEndpointCare, type EndpointCare } from '../endpoint/care.js';
import { SecretRing } from '../endpoint/secret-ring.js';
import { endpointStore } from '../endpoint/state-store.js';
import type { Membership } from '../fleet/membership.js';
import type { Message } from '../fleet/ports.js';
import type { Drain } from '../inbox/drain.js';
import { type EventSeen, ownLane } from '../inbox/ports.js';
import { createReceiver, type Receiver } from '../inbox/receiver.js';
import type { Following } from '../installations/follow-installations.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { ClockWatch } from './clock-watch.js';
import { receiverConnections } from './connection-limits.js';
import type { Engine, EngineParts } from './engine.js';
import { addressOf } from './listen-address.js';
import { listenFault } from './listen-fault.js';
import { catalogOf, grantsOf, installationIn, resolveSources } from './resolve-sources.js';
import { openDrain } from './start-drain.js';

export interface StartedReceiver {
  readonly url: string;
  readonly receiver: Receiver;
  readonly drain: Drain;
  /** Rereads the signing secrets. When one cannot be read, the previous ones stay in use. */
  rereadSecrets(): Promise<void>;
}

export interface ReceiverParts {
  readonly engine: Engine;
  readonly parts: EngineParts;
  readonly membership: Membership;
  readonly clockWatch: ClockWatch;
  readonly following: Following | null;
}

/**
 * Starts the receiver and the inbox drain behind it; `lifecycle` closes both. Returns null when the configuration has no
 * receiver.
 */
export async function startReceiver(
  { engine, parts, membership, clockWatch, following }: ReceiverParts,
  lifecycle: Lifecycle,
): Promise<StartedReceiver | null> {
  const { config, clock } = parts;
  const settings = config.receiver;
  if (settings === null) return null;
  const logger = parts.logger.child({ component: 'inbox' });
  const care = careFor(settings, engine, parts, membership);
  await care?.load();
  const ring = new SecretRing(settings.secrets, clock, logger, ...(care === null ? [] : [care]));
  await ring.load();
  const drain = openDrain(engine, membership, parts, lifecycle);
  const receiver = createReceiver({
    inbox: engine.mirror.inbox,
    path: settings.path,
    signatureHeader: config.platform.headers.signature,
    secrets: () => ring.values(),
    newestSecrets: () => ring.newest(),
    resolveSources: (event) => resolveSources(engine.sources, event),
    onAccepted: (event, sources) => {
      passOn(event, { engine, membership, following });
      drain.accepted(sources);
    },
    onGenuine: (signerAheadSeconds) => clockWatch.delivered(signerAheadSeconds),
    limits: receiverConnections(settings, logger),
    clock,
    logger,
  });
  lifecycle.add('receiver', () => receiver.close());
  await drain.start();
  const { host, port } = await listenOrExplain(receiver, settings);
  if (care !== null) {
    lifecycle.add('endpoint care', () => care.close());
    care.start();
  }
  return {
    url: `${addressOf(host, port)}${settings.path}`,
    rereadSecrets: () => ring.reread(),
    receiver,
    drain,
  };
}

/** Tells the parts of this daemon, and the members that work other sources, what an event means beside news in the feed. */
function passOn(
  event: EventSeen,
  { engine, membership, following }: Pick<ReceiverParts, 'engine' | 'membership' | 'following'>,
): void {
  const worksHere = (name: SourceName) => membership.worksHere(name);
  const tellUnlessHere = (sources: readonly SourceName[], message: Message) => {
    if (!sources.every(worksHere)) membership.tell(message);
  };
  // No record shows that an installation was narrowed or ended, so the source's grant is checked again.
  const granted = grantsOf(engine.sources, event);
  for (const name of granted) engine.sync.recheck(name);
  tellUnlessHere(granted, { kind: 'recheck', sources: granted });
  const installation = following === null ? null : installationIn(event);
  if (installation !== null) {
    following?.seen(installation);
    if (!membership.leads) membership.tell({ kind: 'installed', installations: [installation] });
  }
  const touched = catalogOf(engine.sources, event);
  for (const name of touched.filter(worksHere)) engine.dimensions?.touched(name, event.event);
  tellUnlessHere(touched, { kind: 'touched', sources: touched, event: event.event });
}

function careFor(
  { endpoint }: ReceiverConfig,
  engine: Engine,
  { config, clock, logger }: EngineParts,
  membership: Membership,
): EndpointCare | null {
  const { management } = config.platform;
  if (endpoint === null || management === null) return null;
  return createEndpointCare({
    api: engine.platform.client.as(engine.platform.tokensOf(management)),
    wanted: endpoint,
    store: endpointStore(endpoint, engine.vault),
    clock,
    logger: logger.child({ component: 'endpoint' }),
    catchUp: () => {
      engine.sync.catchUp();
      for (const { name } of engine.sources.all)
        if (!membership.worksHere(name)) membership.announceAccepted(ownLane(name));
    },
    unstored: (problem) => engine.health.attention('endpoint', problem, instantFromMillis(clock.now())),
  });
}

async function listenOrExplain(
  receiver: Receiver,
  { listen }: ReceiverConfig,
): Promise<{ host: string; port: number }> {
  try {
    return await receiver.listen(listen.port, listen.host);
  } catch (error) {
    throw listenFault(error, 'receiver.listen', listen);
  }
}
