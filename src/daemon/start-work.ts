import type { SourceName } from '../domain/ids.js';
import { createFleet } from '../fleet/fleet.js';
import { alone, FleetMembership, type Membership } from '../fleet/membership.js';
import type { Message } from '../fleet/ports.js';
import type { Drain } from '../inbox/drain.js';
import type { Others } from '../inbox/ports.js';
import type { Following } from '../installations/follow-installations.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { isSharedProcessGone } from '../runtime/process-identity.js';
import type { Engine, EngineParts } from './engine.js';

/** Returns the daemon's membership before it joins its fleet; `startWork` joins. */
export function membershipOf({ mirror }: Engine): Membership {
  return mirror.fleet === null ? alone : new FleetMembership();
}

export interface WorkParts {
  readonly engine: Engine;
  readonly parts: EngineParts;
  readonly membership: Membership;
  /** Every member of a fleet drains the shared inbox, whether it has a receiver or not. */
  readonly drain: Drain | null;
  /** Called when leader-only work may be due: this daemon became the leader, or another member committed changes. */
  readonly onLead?: () => void;
  /** Follows what is installed, if the configuration has a rule. */
  readonly following?: Following | null;
}

/** Starts following the sources: all of them, or in a fleet the share assigned to this daemon. */
export async function startWork(work: WorkParts, lifecycle: Lifecycle): Promise<void> {
  const { engine, membership, drain, onLead = () => {} } = work;
  const { sync, mirror, holder } = engine;
  const { dimensions } = engine;
  if (dimensions !== null)
    lifecycle.add(
      'catalog listings',
      sync.onTick((source, { report }) => dimensions.ticked(source, report.outcome === 'done')),
    );
  engine.onDatabaseBack(() => drain?.databaseIsBack());
  if (!(membership instanceof FleetMembership) || mirror.fleet === null) {
    sync.start();
    return;
  }
  const { clock } = work.parts;
  const sourcesNow = () => engine.sources.all.map(({ name }) => name);
  const logger = work.parts.logger.child({ component: 'fleet' });
  const fleet = createFleet({
    open: mirror.fleet,
    member: holder,
    sources: sourcesNow(),
    clock,
    logger,
    isGone: isSharedProcessGone,
    onLead,
    onHeartbeat: (error) => engine.watch.heartbeat(error),
    follow: (sources) => {
      // Its first tick requests a page before it writes notices, so the names are there in time.
      engine
        .learnNames(sources)
        .catch((error: unknown) => logger.debug({ error }, 'names for notices could not be read'));
      sync.follow(...sources);
    },
    leave: (source) => sync.leave(source),
    isBusy: (source) => sync.isBusy(source),
    spaced: () => sync.spaced(),
    onSpaced: (names) => sync.spacedElsewhere(names),
    onMessage: (message) => handleMessage(message, work, onLead),
    onLook: () => {
      drain?.look().catch((error: unknown) => logger.debug({ error }, 'the inbox could not be looked at'));
    },
  });
  membership.take(fleet);
  engine.onDatabaseBack(() => fleet.look());
  lifecycle.add('fleet', async () => {
    // Running ticks finish the page they write; only then are the sources released to other members.
    await sync.close();
    await fleet.close();
  });
  const committed = () => {
    if (!membership.leads) membership.tell({ kind: 'committed' });
  };
  const off = sync.onTick((_, { report: { applied } }) => {
    if (applied.added + applied.changed + applied.removed > 0) committed();
  });
  lifecycle.add('fleet messages', () => void off());
  if (dimensions !== null) lifecycle.add('fleet messages of the catalog', dimensions.onChanged(committed));
  lifecycle.add(
    'sources of the fleet',
    engine.sources.onChange(({ removed }) => fleet.setSources(sourcesNow(), removed)),
  );
  // No source is followed until the fleet assigns it to this daemon.
  await sync.leaveAll();
  await fleet.start();
}

function handleMessage(
  message: Message,
  { engine, parts, membership, drain, following }: WorkParts,
  onLead: () => void,
): void {
  const worked = (sources: readonly SourceName[]) => sources.filter((source) => membership.worksHere(source));
  switch (message.kind) {
    case 'accepted':
      for (const lane of message.lanes) drain?.heardAccepted(lane);
      return;
    case 'recheck':
      for (const source of worked(message.sources)) engine.sync.recheck(source);
      return;
    case 'touched':
      for (const source of worked(message.sources)) engine.dimensions?.touched(source, message.event);
      return;
    case 'ticked':
      drain?.heardTicked(message.source);
      return;
    case 'installed':
      for (const installation of message.installations) {
        following?.seen(installation);
        // Another member may have met a refused token; the leader asks the platform before it believes that.
        for (const { name } of engine.sources.withInstallation(installation)) following?.refused(name);
      }
      return;
    case 'committed':
      if (membership.leads) onLead();
      return;
    case 'backed_up':
      if (membership instanceof FleetMembership) membership.heardBackup(parts.clock.now());
      return;
    case 'members':
      return;
  }
}

/** Returns the fleet as the inbox uses it; undefined where there is none. */
export function othersOf(membership: Membership): Others | undefined {
  if (!(membership instanceof FleetMembership)) return undefined;
  return {
    worksHere: (source) => membership.worksHere(source),
    alone: () => membership.alone,
    announceAccepted: (lane) => membership.announceAccepted(lane),
    announceTicked: (source) => membership.tell({ kind: 'ticked', source }),
  };
}
