import { readInvestment } from '../client/investments.js';
import type { SourceConfig } from '../config/config.js';
import { defined } from '../domain/defined.js';
import { Fault, isFault } from '../domain/fault.js';
import { type InvestmentId, type OfferingId, parseId } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { Position } from '../domain/position.js';
import { Interrupter } from '../runtime/interruption.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { keepLease } from '../sync/keep-lease.js';
import { type Applied, type FeedPage, type Lease, nothingApplied } from '../sync/ports.js';
import { total } from '../sync/total.js';
import type { Engine, EngineParts } from './engine.js';
import { leaseMillis } from './mirror-parts.js';
import { roundsOf } from './start-dimensions.js';
import { syncSources } from './sync-sources.js';
import { isWithin } from './within-filters.js';

/** What to read again: one investment, or every investment of a round. */
export type Part =
  | { readonly kind: 'investment'; readonly id: InvestmentId }
  | { readonly kind: 'round'; readonly id: OfferingId };

export interface PartRead {
  readonly source: string;
  /** `absent`: the platform does not list the investment or round for this source. */
  readonly outcome: 'done' | 'absent';
  readonly pages: number;
  readonly records: number;
  readonly added: number;
  readonly changed: number;
  readonly quarantined: number;
  /** Stored investments of the part that the platform did not list. They are kept: only the feed or a whole listing deletes. */
  readonly missing: number;
}

type PartParts = Pick<EngineParts, 'config' | 'clock' | 'logger'>;
type PartEngine = Pick<Engine, 'mirror' | 'platform' | 'holder' | 'dimensions'>;

/**
 * Reads a part of one source again from the platform's listing, and replaces the stored records that differ. The source has
 * to be up to date, and no tick of it may run meanwhile. Throws the `Fault` that prevented it.
 */
export async function readPart(
  source: SourceConfig,
  part: Part,
  parts: PartParts,
  engine: PartEngine,
  signal: AbortSignal,
): Promise<PartRead> {
  const narrowed = await narrowedTo(part, source, engine, signal);
  if (narrowed === null) return await absent(source, part, parts);
  const [sync] = await syncSources(parts.config, [narrowed], engine.platform);
  const [own] = await syncSources(parts.config, [source], engine.platform);
  if (sync === undefined || own === undefined) throw new Error(`${source.name} is no source`);
  const { mirror } = engine.mirror;
  const { clock, logger, config } = parts;
  const begun = { at: clock.now(), monotonic: clock.monotonic() };
  const cut = new Interrupter();
  const stop = () => cut.abort();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const { lease, phase } = await mirror.open(own.identity, engine.holder);
  const keeping = keepLease({ mirror, lease, clock, logger }, leaseMillis / 3, stop);
  try {
    // Another process may have begun a listing since the source was brought up to date. What is added beside it would be
    // new twice when it is published.
    if (phase.kind !== 'following') throw notListed(source.name);
    const feed = sync.feed('routine');
    const seen = new Set<string>();
    let applied: Applied = nothingApplied;
    let pages = 0;
    let position: Position | null = { kind: 'start' };
    while (position !== null) {
      const received = await feed.page(position, cut).catch((error: unknown) => {
        if (part.kind === 'round' && pages === 0 && isOfAnother(error)) return null;
        throw error;
      });
      if (received === null) return await absent(source, part, parts);
      const page: FeedPage = received.parse();
      pages += 1;
      const wanted = page.items.filter((item) => part.kind === 'round' || idOf(item) === part.id);
      for (const item of wanted) seen.add(idOf(item) ?? '');
      if (wanted.length > 0) {
        applied = total(applied, await mirror.reread(lease, wanted));
        // The first record of a round may be one that was unreadable until now.
        engine.dimensions?.invested(source.name, roundsOf(wanted));
      }
      position = page.hasMore ? { kind: 'page', token: page.next as never } : null;
    }
    await recordRead(mirror, lease, { pages, applied }, begun, parts);
    const stored = await storedIds(source, part, config.database);
    return {
      source: source.name,
      outcome: seen.size === 0 && part.kind === 'investment' ? 'absent' : 'done',
      pages,
      records: seen.size,
      added: applied.added,
      changed: applied.changed,
      quarantined: applied.quarantined,
      missing: stored.filter((id) => !seen.has(id)).length,
    };
  } finally {
    signal.removeEventListener('abort', stop);
    await keeping.stop();
    await mirror.release(lease);
  }
}

/**
 * Returns whether the platform refuses a round because it is of another company, or none: the source itself was readable a
 * moment ago.
 */
const isOfAnother = (error: unknown): boolean =>
  isFault(error, 'forbidden') || (isFault(error, 'refused') && error.about.status === 404);

/** The error for a source of which no single records are read, because a listing is under way. */
export const notListed = (source: string): Fault =>
  new Fault('stopped', `${source} is not listed completely yet`, { hint: `rosterd sync --source ${source}` });

/**
 * Returns the source narrowed to the part, or null when the part is none of its records. An investment is found by its
 * round and investor, so that the published version is read, not the one that the platform derives now.
 */
async function narrowedTo(
  part: Part,
  source: SourceConfig,
  { platform }: PartEngine,
  signal: AbortSignal,
): Promise<SourceConfig | null> {
  const { filters } = source;
  if (part.kind === 'round') {
    if (filters.offeringId !== undefined && filters.offeringId !== part.id) return null;
    return { ...source, filters: { ...filters, offeringId: part.id } };
  }
  const api = platform.client.as(platform.tokensOf(source.access));
  const item = (await readInvestment(api, part.id, signal))?.item;
  if (item?.kind !== 'record') return null;
  if (!isWithin(filters, item.investment)) return null;
  const { offering_id, investor_id } = item.investment;
  const [offering, investor] = [parseId('offering', offering_id), parseId('user', investor_id)];
  return {
    ...source,
    filters: {
      ...filters,
      ...defined({ offeringId: offering, investorId: investor }),
    },
  };
}

async function absent(source: SourceConfig, part: Part, { config }: PartParts): Promise<PartRead> {
  const stored = await storedIds(source, part, config.database);
  return {
    source: source.name,
    outcome: 'absent',
    pages: 0,
    records: 0,
    added: 0,
    changed: 0,
    quarantined: 0,
    missing: stored.length,
  };
}

async function storedIds(
  { name }: SourceConfig,
  part: Part,
  database: EngineParts['config']['database'],
): Promise<readonly string[]> {
  const rows = await readMirror(database, (db) =>
    db
      .selectFrom('investments')
      .select('id')
      .where('source', '=', name)
      .where(part.kind === 'round' ? 'offering_id' : 'id', '=', part.id)
      .execute(),
  );
  return rows.map(({ id }) => id);
}

/** The read appears in `ticks`, but without a mode: it read nothing of the feed, so it proves no webhook worked. */
async function recordRead(
  mirror: Engine['mirror']['mirror'],
  lease: Lease,
  { pages, applied }: { readonly pages: number; readonly applied: Applied },
  begun: { readonly at: number; readonly monotonic: number },
  { clock }: PartParts,
): Promise<void> {
  await mirror.recordTick(
    lease,
    {
      trigger: 'manual',
      mode: 'none',
      startedAt: instantFromMillis(begun.at),
      pages,
      applied,
      outcome: 'done',
      code: null,
      message: null,
      retryAt: null,
      tookMs: Math.round(clock.monotonic() - begun.monotonic),
    },
    null,
  );
}

const idOf = (item: FeedItem): string | null => (item.kind === 'record' ? item.investment.id : item.id);
