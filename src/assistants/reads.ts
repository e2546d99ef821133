import type { Config } from '../config/config.js';
import { asOfTime, pastTime, presentState } from '../domain/as-of.js';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import { parseId } from '../domain/ids.js';
import { type Instant, millisOf } from '../domain/instant.js';
import { type BoxedResult, boxLimits, runBoxedQuery } from '../reading/boxed-query.js';
import { type Change, readLatestChanges } from '../reading/changes.js';
import { askDaemons } from '../reading/daemon-address.js';
import { readHistory, type Version } from '../reading/history.js';
import { type FullStatus, statusOf } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import type { DatabaseLocation } from '../store/database-location.js';
import type { SqlValue } from '../store/reads/query.js';
import { fitting, notesOf, withList } from './fitting.js';

export interface ReadParts {
  readonly location: DatabaseLocation;
  /** Null when the mirror was named without a configuration. */
  readonly config: Config | null;
  /** Whether names and unknown fields may be shown. */
  readonly identity: boolean;
  readonly clock: Clock;
}

/** Each query runs in a process of its own; more at once would slow down a daemon on the same host. */
const runningMax = 2;
const versionsMax = 200;
export const changesMax = 500;

/** Runs statements, at most two at a time. */
export function queryReader({ location, identity, clock }: ReadParts) {
  let running = 0;
  return async (sql: string, asOf: string | undefined, signal: AbortSignal): Promise<string> => {
    if (running >= runningMax)
      throw new Fault('usage', 'two queries are running already', { hint: 'Run it again in a moment.' });
    const past = asOf === undefined ? undefined : pastTime(asOf, 'as_of', clock.now());
    // Only operators may read the audit log, as on the SQL page of the dashboard.
    const reading = { identity, audit: false, ...defined({ asOf: past }) };
    running += 1;
    try {
      return resultText(await runBoxedQuery(location, sql, reading, clock, signal));
    } finally {
      running -= 1;
    }
  };
}

/** Returns a result as JSON. Rows that would make it too long are left out, and it says so. */
function resultText({ columns, rows, truncated, tookMs, younger }: BoxedResult): string {
  const kept = fitting(rows.map((row) => row.map(cell)));
  const cut = kept.length < rows.length;
  const notes = [
    ...(truncated ? [`only the first ${boxLimits.rows} rows are here: aggregate, or select a part`] : []),
    ...(cut ? [`only ${kept.length} rows fit into an answer: select fewer columns or rows`] : []),
    ...younger.map(
      ({ source, from }) => `${source}: its history begins at ${from}, after the requested time`,
    ),
  ];
  const about = { columns, row_count: kept.length, truncated: truncated || cut, took_ms: tookMs };
  return withList({ ...about, ...notesOf(notes) }, 'rows', kept);
}

/** Numbers that JSON cannot represent exactly become text; bytes become SQLite's literal. */
function cell(value: SqlValue): string | number | null {
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)))
    return String(value);
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value;
}

/** An answer has to stay short: with more sources, it has the worst. */
const sourcesMax = 50;

export async function statusText({ location, config, clock }: ReadParts): Promise<string> {
  return JSON.stringify(
    shortStatus(
      await statusOf(location, clock, config, await askDaemons(location, config, clock), { sourcesMax }),
    ),
  );
}

/** What a reader of the data has to know; `rosterd status --json` has everything. */
function shortStatus(status: FullStatus) {
  const { at, health, counts, truncated, sources, change_seq, problems, inbox, notices } = status;
  return {
    at,
    health,
    newest_change: change_seq,
    problems: problems.map(({ key, severity, text, since }) => ({ key, severity, text, since })),
    webhooks_waiting: inbox.pending,
    notices_waiting: notices.pending,
    ...(truncated
      ? {
          sources_total: counts.sources,
          sources_by_state: counts.by_state,
          note: `only the ${sources.length} worst sources are here`,
        }
      : {}),
    sources: sources.map((one) => ({
      source: one.source,
      health: one.health,
      state: one.state,
      meaning: one.meaning,
      readable: one.readable === 1,
      rows: one.rows,
      complete_up_to: one.complete_up_to,
      last_success_at: one.last_success_at,
      last_error: one.last_error,
      history_from: one.history_from,
      awaiting_deletion: one.awaiting_deletion,
      in_quarantine: one.quarantine_open,
      names_incomplete: one.names_incomplete === 1,
      paused_at: one.paused_at,
      collections_problem: one.collections_problem,
      concerns: one.concerns.map(({ text }) => text),
    })),
  };
}

export interface HistoryWanted {
  readonly id: string;
  readonly source?: string | undefined;
  readonly asOf?: string | undefined;
}

/** Returns the versions of an investment, newest first. Throws `usage` for an id the mirror never had. */
export async function historyText(
  { location, identity, clock }: ReadParts,
  { id: text, source, asOf }: HistoryWanted,
): Promise<string> {
  const id = parseId('investment', text);
  if (id === undefined)
    throw new Fault('usage', `${JSON.stringify(text)} is not the id of an investment`, {
      hint: 'ids of investments begin with inv_',
    });
  const versions = await readHistory(location, {
    id,
    ...defined({ source, asOf: asOf === undefined ? undefined : momentOf(asOf, clock.now()) }),
  });
  if (versions.length === 0)
    throw new Fault('usage', `the mirror has no version of ${id}${asOf === undefined ? '' : ` at ${asOf}`}`, {
      hint:
        asOf === undefined
          ? 'status shows whether its source is complete'
          : 'leave as_of out to list every version',
    });
  // The sort is stable: versions of one source stay in their order.
  const newest = [...versions].sort((one, other) => other.change_seq - one.change_seq).slice(0, versionsMax);
  const shown = fitting(
    newest.map((version) => versionShown(version, identity)),
    1,
  );
  const notes =
    shown.length < versions.length
      ? [`only the newest ${shown.length} of ${versions.length} versions are here: as_of reads an older one`]
      : [];
  return withList({ id, ...notesOf(notes) }, 'versions', shown);
}

/** The present and any later time select the present state. */
function momentOf(text: string, now: number): Instant {
  const moment = asOfTime(text);
  if (moment === undefined) return pastTime(text, 'as_of', now);
  return millisOf(moment) < now ? moment : presentState;
}

/** Unknown fields may contain personal data, so they are left out like names. */
function versionShown({ blockers, contracts, extra, ...rest }: Version, identity: boolean) {
  return {
    ...rest,
    blockers: JSON.parse(blockers) as unknown,
    contracts: JSON.parse(contracts) as unknown,
    ...(identity ? { extra: extra === null ? null : (JSON.parse(extra) as unknown) } : {}),
  };
}

export interface ChangesWanted {
  readonly since?: number | undefined;
  readonly source?: string | undefined;
  readonly limit: number;
}

/** Returns changes after `since` in their order, or the newest ones without it. */
export async function changesText({ location, identity }: ReadParts, wanted: ChangesWanted): Promise<string> {
  const { changes, newest } = await readLatestChanges(location, {
    limit: wanted.limit,
    ...defined({ after: wanted.since, source: wanted.source }),
  });
  const shown = changes.map((change) => (identity ? change : withoutUnknown(change)));
  // The newest ones without `since`; otherwise the first ones, of which at least one, so that the reader gets on.
  const isNewest = wanted.since === undefined;
  const fit = isNewest ? fitting([...shown].reverse(), 1).toReversed() : fitting(shown, 1);
  const isCut = fit.length < changes.length;
  const end = isNewest ? changes.at(-1) : changes[fit.length - 1];
  const last = end?.seq ?? wanted.since ?? newest;
  const about = {
    newest_change: newest,
    next_since: last,
    more: !isNewest && (isCut || changes.length === wanted.limit) && last < newest,
  };
  const notes = isCut ? [`only ${fit.length} of ${changes.length} changes fit into an answer`] : [];
  return withList({ ...about, ...notesOf(notes) }, 'changes', fit);
}

function withoutUnknown(change: Change): Change {
  return { ...change, before: stripped(change.before), after: stripped(change.after) };
}

function stripped(columns: Change['before']): Change['before'] {
  if (columns === null) return null;
  const { extra: _, ...rest } = columns;
  return rest;
}
