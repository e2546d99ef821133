import type { Kysely, Selectable } from 'kysely';
import { cursorWarningSeconds } from '../../contract/limits.js';
import { type Instant, instantFromMillis, millisOf } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { TicksView } from '../schema.js';
import type { ReadDatabase, SyncStatusView } from './views.js';

/** `attention` needs a person, `failing` tries again by itself, `working` has not caught up yet. */
export type Health = 'ok' | 'working' | 'failing' | 'attention';

export interface SourceStatus extends SyncStatusView {
  readonly health: Health;
  readonly generation: number;
  /** Records set aside and not yet followed by a readable version. */
  readonly quarantine_open: number;
  /** Null while there is no position in the feed. */
  readonly cursor_age_seconds: number | null;
  /** The position has been the same for 60 days: within a month everything has to be listed again. */
  readonly cursor_old: boolean;
  /** Nobody looked for so long that nothing can be said about now: `ok` would be a guess. */
  readonly stale: boolean;
  /** Whole days until the platform may forget the position; negative once it may have. */
  readonly cursor_days_left: number | null;
  /** Newest first. */
  readonly ticks: readonly Selectable<TicksView>[];
}

export interface WaitingCounts {
  readonly pending: number;
  readonly given_up: number;
  /** Arrival of the oldest one pending. */
  readonly oldest_at: string | null;
}

export interface StatusDocument {
  readonly at: Instant;
  readonly health: Health;
  readonly sources: readonly SourceStatus[];
  readonly inbox: WaitingCounts;
  readonly notices: WaitingCounts;
  readonly erasures: {
    /** Identities erased from view whose bytes may still stand in the file. */
    readonly pending: number;
    readonly since: string | null;
    /** Removals not yet counted above: the next scrub takes them. */
    readonly residue: boolean;
  };
  /** Number of the newest change. */
  readonly change_seq: number;
}

/** Longer than this without a tick and nobody is following, unless the interval is as long. */
export const staleMillisDefault = 15 * 60_000;

const secondMillis = 1_000;
const dayMillis = 86_400 * secondMillis;
const worst: readonly Health[] = ['attention', 'failing', 'working', 'ok'];

/**
 * Everything `rosterd status` and a dashboard show, read in one transaction so that its parts agree. Wants a
 * read-only connection of its own: the transaction stays open over awaits, and a writer's must not.
 */
export function readStatus(
  db: Kysely<ReadDatabase>,
  clock: Clock,
  ticksMax = 5,
  staleMillis = staleMillisDefault,
): Promise<StatusDocument> {
  return db.transaction().execute(async (trx) => {
    const now = clock.now();
    const sources: SourceStatus[] = [];
    for (const row of await trx.selectFrom('sync_status').selectAll().orderBy('source').execute())
      sources.push(await sourceStatus(trx, row, now, ticksMax, staleMillis));
    const { seq } = await trx
      .selectFrom('change_rows')
      .select(({ fn }) => fn.max('seq').as('seq'))
      .executeTakeFirstOrThrow();
    return {
      at: instantFromMillis(now),
      health: worst.find((health) => sources.some((source) => source.health === health)) ?? 'working',
      sources,
      inbox: await waiting(trx, 'webhook_inbox', 'received_at'),
      notices: await waiting(trx, 'notice_rows', 'queued_at'),
      erasures: await pendingErasures(trx),
      change_seq: seq ?? 0,
    };
  });
}

async function sourceStatus(
  db: Kysely<ReadDatabase>,
  row: SyncStatusView,
  now: number,
  ticksMax: number,
  staleMillis: number,
): Promise<SourceStatus> {
  const { no, generation } = await db
    .selectFrom('sources')
    .select(['no', 'generation'])
    .where('name', '=', row.source)
    .executeTakeFirstOrThrow();
  const ticks = await db
    .selectFrom('ticks')
    .selectAll()
    .where('source', '=', row.source)
    .orderBy('tick', 'desc')
    .limit(ticksMax)
    .execute();
  const { open } = await db
    .selectFrom('quarantine_rows')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where('source_no', '=', no)
    .where('resolved_at', 'is', null)
    .executeTakeFirstOrThrow();
  const age = since(row.cursor_saved_at, now, secondMillis);
  const health = healthOf(row);
  const stale = row.last_tick_at === null || now - millisOf(row.last_tick_at as Instant) > staleMillis;
  return {
    ...row,
    health: stale && health === 'ok' ? 'failing' : health,
    stale,
    generation,
    quarantine_open: open,
    cursor_age_seconds: age,
    cursor_old: age !== null && age >= cursorWarningSeconds,
    cursor_days_left: until(row.cursor_expires_at, now, dayMillis),
    ticks,
  };
}

/** A source that failed its last attempt, or was told to wait, never reads as healthy, whatever state it is in. */
export function healthOf({ state, last_outcome }: Pick<SyncStatusView, 'state' | 'last_outcome'>): Health {
  if (state === 'halted' || state === 'held') return 'attention';
  if (last_outcome === 'failed') return 'failing';
  return state === 'following' && last_outcome !== 'waiting' ? 'ok' : 'working';
}

function since(time: string | null, now: number, unit: number): number | null {
  return time === null ? null : Math.floor((now - millisOf(time as Instant)) / unit);
}

function until(time: string | null, now: number, unit: number): number | null {
  return time === null ? null : Math.floor((millisOf(time as Instant) - now) / unit);
}

async function waiting(
  db: Kysely<ReadDatabase>,
  table: 'webhook_inbox' | 'notice_rows',
  arrival: 'received_at' | 'queued_at',
): Promise<WaitingCounts> {
  const { ref } = db.dynamic;
  const counts = await db
    .selectFrom(table)
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .where('state', 'in', ['pending', 'given_up'])
    .groupBy('state')
    .execute();
  const oldest = await db
    .selectFrom(table)
    .select(({ fn }) => fn.min<string | null>(ref(arrival)).as('at'))
    .where('state', '=', 'pending')
    .executeTakeFirst();
  const count = (state: string) => counts.find((row) => row.state === state)?.count ?? 0;
  return { pending: count('pending'), given_up: count('given_up'), oldest_at: oldest?.at ?? null };
}

async function pendingErasures(db: Kysely<ReadDatabase>): Promise<StatusDocument['erasures']> {
  const row = await db
    .selectFrom('erasures')
    .select(({ fn }) => [fn.countAll<number>().as('pending'), fn.min('invisible_at').as('since')])
    .where('scrubbed_at', 'is', null)
    .executeTakeFirstOrThrow();
  const residue = await db.selectFrom('identity_residue').select('only').executeTakeFirst();
  return { pending: row.pending, since: row.since, residue: residue !== undefined };
}
