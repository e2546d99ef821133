import type { SourceName } from '../../../src/domain/ids.js';
import { createFleet, type Fleet } from '../../../src/fleet/fleet.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { packageVersion } from '../../../src/runtime/package-version.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { PostgresFleet } from '../../../src/store/dialect/postgres/fleet.js';
import { migratePostgres } from '../../../src/store/dialect/postgres/migrate.js';
import { PostgresMirror } from '../../../src/store/dialect/postgres/mirror.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { createSync } from '../../../src/sync/create-sync.js';
import type { Feed } from '../../../src/sync/ports.js';
import type { Sync } from '../../../src/sync/sync.js';
import { received } from '../../sync/support/truth.js';

/** The fleet parts of a daemon, with a platform that never has changes and responds at once. */
export interface Member {
  readonly name: string;
  readonly fleet: Fleet;
  readonly sync: Sync;
  /** When each source ticked, in milliseconds. */
  readonly ticks: Map<SourceName, number[]>;
  close(): Promise<void>;
}

const quiet: Feed = {
  page: async (position) =>
    received({
      mode: position.kind === 'start' || position.kind === 'page' ? 'listing' : 'delta',
      size: 0,
      items: [],
      hasMore: false,
      next: 'c',
      publishedThrough: null,
    }),
};

export interface MemberOptions {
  readonly url: string;
  readonly name: string;
  readonly sources: readonly SourceName[];
  readonly intervalMillis: number;
}

export async function startMember({ url, name, sources, intervalMillis }: MemberOptions): Promise<Member> {
  const database = await openPostgres(url);
  await migratePostgres(database, { clock: systemClock, version: packageVersion() });
  const ticks = new Map<SourceName, number[]>();
  const common = { clock: systemClock, logger: silentLogger };
  const sync = createSync({
    ...common,
    random: systemRandom,
    holder: name,
    mirror: new PostgresMirror(database, { clock: systemClock, leaseMs: 30_000 }),
    sources: sources.map((source) => ({ identity: { name: source, fingerprint: 'f' }, feed: () => quiet })),
    options: {
      intervalMillis,
      idleIntervalMillis: intervalMillis,
      concurrency: 4,
      leaseRenewMillis: 10_000,
      brake: { share: 0.2, rows: 50 },
      backoff: { baseMillis: 1_000, capMillis: 10_000 },
    },
  });
  sync.onTick((source) => void ticks.set(source, [...(ticks.get(source) ?? []), systemClock.monotonic()]));
  const fleet = createFleet({
    ...common,
    member: name,
    sources,
    open: (member, ears) =>
      new PostgresFleet(member, { server: url, database, version: packageVersion() }, ears),
    isGone: () => false,
    follow: (taken) => sync.follow(...taken),
    leave: (source) => sync.leave(source),
    isBusy: (source) => sync.isBusy(source),
    spaced: () => sync.spaced(),
    onSpaced: (names) => sync.spacedElsewhere(names),
    onMessage: () => {},
    onLook: () => {},
    onLead: () => {},
  });
  await Promise.all(sources.map((source) => sync.leave(source)));
  await fleet.start();
  return {
    name,
    fleet,
    sync,
    ticks,
    close: async () => {
      await sync.close();
      await fleet.close();
      await database.close();
    },
  };
}

export const sourceNames = (count: number): readonly SourceName[] =>
  Array.from({ length: count }, (_, n) => `s${String(n).padStart(4, '0')}` as SourceName);

/** Waits until the members have claimed that many sources each. Returns the milliseconds it took. */
export async function untilHeld(members: readonly Member[], wanted: readonly number[]): Promise<number> {
  const begun = systemClock.monotonic();
  for (;;) {
    const held = members.map(({ fleet }) => fleet.held).sort((a, b) => b - a);
    if (held.join() === wanted.join()) return systemClock.monotonic() - begun;
    if (systemClock.monotonic() - begun > 240_000)
      throw new Error(`held ${held.join(', ')} instead of ${wanted.join(', ')}`);
    await systemClock.wait(50);
  }
}

/** Waits until each source has ticked again after `since`, on any member. */
export async function untilTicked(
  members: readonly Member[],
  sources: readonly SourceName[],
  since: number,
): Promise<number> {
  const begun = systemClock.monotonic();
  const late = (source: SourceName) =>
    !members.some(({ ticks }) => (ticks.get(source)?.at(-1) ?? Number.NEGATIVE_INFINITY) > since);
  while (sources.some(late)) {
    if (systemClock.monotonic() - begun > 480_000)
      throw new Error(`${sources.filter(late).length} never ticked`);
    await systemClock.wait(100);
  }
  return systemClock.monotonic() - begun;
}
