import type { Config, EndpointConfig } from '../config/config.js';
import { sharesFor, sharesWanted } from '../config/request-shares.js';
import { Fault } from '../domain/fault.js';
import {
  blockedHealth,
  type EndpointHealth,
  type EndpointState,
  readEndpointState,
} from '../endpoint/state.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthReport, Wait } from '../runtime/health-register.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { type AfterSyncStatus, readAfterSync } from '../store/reads/after-sync.js';
import { type FleetMember, readFleet } from '../store/reads/fleet.js';
import { type Ask, inSnapshot, type Snapshots } from '../store/reads/snapshot.js';
import {
  readStatus,
  type StatusDocument,
  type StatusWanted,
  type SourceStatus as StoredStatus,
} from '../store/reads/status.js';
import type { Vault } from '../vault/ports.js';
import { type BackupsSeen, backupsSeen } from './backups.js';
import type { DaemonSeen } from './daemon-address.js';
import type { ListingLeft } from './listing-left.js';
import type { ListingParts } from './listing-status.js';
import type { ExportsSeen, LakeSeen } from './publications.js';
import type { WebhookSpacing, WebhookSpacings } from './webhook-spacing.js';

export type { EndpointHealth } from '../endpoint/state.js';
export type { StatusDocument } from '../store/reads/status.js';
export type { ListingLeft } from './listing-left.js';
export type { WebhookSpacing } from './webhook-spacing.js';

export interface SourceStatus extends StoredStatus {
  /** Reported by the daemon that follows the source; null when none on this host answers. */
  readonly webhook_spacing: WebhookSpacing | null;
  /** How far the listing in progress is; null when there is none. */
  readonly listing: ListingLeft | null;
}

/** The status of the mirror, of its daemons and of the webhook endpoint. */
export interface FullStatus extends StatusDocument {
  readonly sources: readonly SourceStatus[];
  /** The managed webhook endpoint; null when none is configured. */
  readonly endpoint: EndpointHealth | null;
  /** The daemons that share the database; null for SQLite, which has one. */
  readonly fleet: readonly FleetSeen[] | null;
  /** The scheduled backups; null when the configuration has no schedule. */
  readonly backup: BackupsSeen | null;
  /** The scheduled exports; null when the configuration has no schedule. */
  readonly exports: ExportsSeen | null;
  /** The lake that is kept on a schedule; null when the configuration has none. */
  readonly lake: LakeSeen | null;
  /** The hooks that run after a sync, configured or known to the mirror. */
  readonly after_sync: readonly AfterSyncStatus[];
  /** The daemons on this host that use this database, as far as they can be found. */
  readonly daemons: readonly DaemonSeen[];
  /** Work on the database that ticks of these daemons wait for, such as a rewriting of the file. */
  readonly waits: readonly Wait[];
}

/** A member of the fleet. `sources` and `follows` have at most as many names as a status describes sources. */
export interface FleetSeen extends FleetMember {
  readonly sources_count: number;
  readonly follows_count: number;
}

/** What running daemons report. */
export interface Known {
  readonly daemons: readonly DaemonSeen[];
  readonly problems: readonly HealthReport[];
  readonly waits: readonly Wait[];
  /** All, or a function for one source. */
  readonly spacings: WebhookSpacings | ((source: string) => WebhookSpacing | null);
  /** When the last of the daemons started; absent or null where that is not known. */
  readonly since?: string | null;
  /** The vault of a daemon, which is open already. */
  readonly vault?: Vault;
}

/** Which sources a status describes. Its counts and its health always cover all. */
export type StatusPart = Pick<StatusWanted, 'sourcesMax' | 'only' | 'ticksMax'>;

/** How many sources a status describes; of more, it describes the worst. */
export const sourcesUsual = 200;

const nothingKnown: Known = { daemons: [], problems: [], waits: [], spacings: {} };

/**
 * Returns the status of a mirror. The configuration adds sources that never ran, sources that no configuration follows,
 * the webhook endpoint, and the interval that decides what is overdue.
 */
export async function statusOf(
  location: DatabaseLocation | Snapshots,
  clock: Clock,
  config?: Config | null,
  { daemons, problems, waits, spacings, since = null, vault }: Known = nothingKnown,
  part: StatusPart = {},
): Promise<FullStatus> {
  const database = 'take' in location ? config?.database : location;
  const shared = database !== undefined && dialectFor(database).shared;
  const read = async (ask: Ask) => {
    const fleet = shared ? await readFleet(ask) : null;
    const elsewhere = sourcesElsewhere(fleet);
    const hooks = config?.afterSync.map(({ name }) => name);
    return {
      ...(await readStatus(ask, clock, {
        sourcesMax: sourcesUsual,
        ...statusWanted(config),
        ...part,
        elsewhere,
        problems,
      })),
      after_sync: await readAfterSync(ask, hooks),
      fleet: fleet?.map(shortMember) ?? null,
      members: (fleet ?? []).filter(({ alive }) => alive === 1).map(({ sources }) => new Set(sources)),
    };
  };
  const { listing, members, ...document } =
    'take' in location ? await location.take(read) : await inSnapshot(location, read);
  const listings = await listingsOf(document, spacings, members, {
    listing,
    since,
    config: config ?? null,
    now: clock.now(),
  });
  return {
    ...document,
    sources: document.sources.map((one) => ({
      ...one,
      webhook_spacing: spacingOf(spacings, one.source),
      listing: listings.get(one.source) ?? null,
    })),
    endpoint: config == null ? null : await endpointHealth(config, clock, vault),
    backup: backupsSeen(config, clock.now()),
    ...(await publicationsSeen(config, clock.now())),
    daemons,
    waits,
  };
}

const shortMember = (member: FleetMember): FleetSeen => ({
  ...member,
  sources: member.sources.slice(0, sourcesUsual),
  follows: member.follows.slice(0, sourcesUsual),
  sources_count: member.sources.length,
  follows_count: member.follows.length,
});

/** The sources that living daemons of the fleet follow. */
export const sourcesElsewhere = (fleet: readonly FleetMember[] | null): readonly string[] =>
  (fleet ?? []).flatMap(({ alive, follows }) => (alive === 1 ? follows : []));

/** Loads what estimates listings only where one is in progress. */
async function listingsOf(
  { sources, counts }: StatusDocument,
  spacings: Known['spacings'],
  members: readonly ReadonlySet<string>[],
  parts: Pick<ListingParts, 'listing' | 'since' | 'config' | 'now'>,
): Promise<ReadonlyMap<string, ListingLeft | null>> {
  const listed = sources.filter(({ listing_started_at }) => listing_started_at !== null);
  if (listed.length === 0) return new Map();
  const { listingOf } = await import('./listing-status.js');
  const of = { ...parts, sourcesCount: counts.sources };
  const inTurn = (name: string) => {
    const member = members.find((sources) => sources.has(name));
    return parts.listing.filter((one) => member?.has(one) ?? true).length;
  };
  return new Map(
    listed.map((source) => [
      source.source,
      listingOf({
        ...of,
        ...{ source, spacing: spacingOf(spacings, source.source), inTurn: inTurn(source.source) },
      }),
    ]),
  );
}

const spacingOf = (spacings: Known['spacings'], source: string): WebhookSpacing | null =>
  typeof spacings === 'function' ? spacings(source) : (spacings[source] ?? null);

/** Loads what reads exports and lakes only where the configuration has them. */
export async function publicationsSeen(
  config: Config | null | undefined,
  now: number,
): Promise<Pick<FullStatus, 'exports' | 'lake'>> {
  if (config == null || (config.exports.everyMillis === null && config.lake.everyMillis === null))
    return { exports: null, lake: null };
  const { exportsSeen, lakeSeen } = await import('./publications.js');
  return { exports: exportsSeen(config, now), lake: lakeSeen(config, now) };
}

/** The scheduler moves each tick by up to a quarter of the interval. */
const jitterMax = 1.25;
/** The time allowed for the tick itself and for waiting behind other sources. */
const graceMillis = 60_000;

/** Without a configuration, neither the interval nor the expected sources are known. */
export function statusWanted(config: Config | null | undefined): StatusWanted {
  if (config == null) return {};
  return {
    staleMillisOf: (sources) => staleMillisOf(config, sources),
    configured: config.sources.map(({ name }) => name),
  };
}

/** Returns how long after its last tick one of so many sources is overdue. */
export function staleMillisOf(config: Config, sources: number): number {
  // Idle sources are read less often, which does not make them overdue.
  const shares = sharesFor(sources, sharesWanted(config));
  // With many sources, ticks wait for requests: at most for as long as an interval.
  const queuedMillis =
    shares.timed === null ? 0 : shares.intervalMillis - config.sync.intervalSeconds * 1_000;
  const interval = Math.max(shares.intervalMillis, shares.idleIntervalMillis);
  return jitterMax * interval + queuedMillis + graceMillis;
}

export async function endpointHealth(
  config: Config,
  clock: Clock,
  vault: Vault | undefined,
): Promise<EndpointHealth | null> {
  const wanted = config.receiver?.endpoint ?? null;
  if (wanted === null) return null;
  try {
    return (await endpointStateOf(config, wanted, clock, vault)).health;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return blockedHealth(null, error, clock.now());
  }
}

async function endpointStateOf(
  config: Config,
  wanted: EndpointConfig,
  clock: Clock,
  vault: Vault | undefined,
): Promise<EndpointState> {
  if (wanted.entry === null) return await readEndpointState(wanted.file);
  const { endpointStore } = await import('../endpoint/state-store.js');
  if (vault !== undefined) return await endpointStore(wanted, vault).read();
  const { openVault } = await import('./open-vault.js');
  const own = openVault(config, { clock });
  try {
    return await endpointStore(wanted, own).read();
  } finally {
    await own.close();
  }
}
