import type { Config, SourceConfig } from '../config/config.js';
import { counted } from '../domain/counted.js';
import { isFault } from '../domain/fault.js';
import { parseId, type SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { OperatorRequest } from '../store/operator-requests.js';
import { readMirror } from '../store/reads/read-mirror.js';
import type { ManualAsk } from '../sync/schedule-state.js';
import type { Sync } from '../sync/sync.js';
import type { TickResult } from '../sync/tick-parts.js';
import type { Engine } from './engine.js';
import { readEachSecond } from './read-each-second.js';
import { readPart } from './read-part.js';

export interface RequestWatchParts {
  readonly config: Config;
  readonly engine: Pick<Engine, 'mirror' | 'platform' | 'sync' | 'sources' | 'dimensions' | 'holder'>;
  /** Keeps a source still while its records are read one by one. */
  readonly holds: Pick<Sync, 'pause' | 'resume'>;
  readonly worksHere: (source: SourceName) => boolean;
  /** Called when records were read one by one and some of them changed, which is no tick. */
  readonly onChanged: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RequestWatch extends Closable {
  /** Looks now: a request was made. */
  look(): void;
}

/** What became of a request: a text of counts and codes. */
interface Outcome {
  readonly outcome: 'done' | 'failed';
  readonly note: string;
}

/** One lookup of a tiny table. */
const lookMillis = 1_000;

/** Each record takes a few requests of the hourly quota. */
const recordsMax = 25;

/** Performs what operators ask for at a console, for the sources that this daemon works on, and logs what became of it. */
export function watchRequests(parts: RequestWatchParts): RequestWatch {
  const { engine, clock, logger } = parts;
  const { requests, pauses, audit } = engine.mirror;
  const stopping = new AbortController();
  const busy = new Set<string>();
  const reading = new Set<Promise<unknown>>();
  let asleep = new Interrupter();

  const perform = async (request: OperatorRequest, source: SourceConfig): Promise<void> => {
    const { kind, actor, role } = request;
    const { name } = source;
    logger.info({ source: name, event: kind }, 'an operator asked for this at the console');
    const { outcome, note } = await work(request, source).catch((error: unknown): Outcome => {
      if (!isFault(error))
        logger.error({ error, source: name, event: kind }, 'the request of an operator failed');
      return { outcome: 'failed', note: isFault(error) ? error.code : 'internal' };
    });
    // The next process performs what this one may not have finished.
    if (stopping.signal.aborted) return;
    await requests.remove(request);
    logger.info({ source: name, event: kind, outcome, hint: note }, 'the request of an operator ended');
    await audit.add({
      at: instantFromMillis(clock.now()),
      actor,
      role,
      action: kind,
      outcome,
      source: name,
      subject: null,
      rows_seen: null,
      note,
    });
  };

  const work = async (request: OperatorRequest, source: SourceConfig): Promise<Outcome> => {
    const { kind, confirmed_rows } = request;
    if (kind === 'retry_quarantine') {
      const retried = retryQuarantine(source);
      reading.add(retried);
      return await retried.finally(() => reading.delete(retried));
    }
    const ask: ManualAsk =
      kind === 'resync'
        ? { resync: !(await hasBegun(request, parts.config)) }
        : { acceptAwaiting: confirmed_rows ?? 0 };
    const result = await engine.sync.tick(source.name, ask);
    if (kind === 'accept_deletions' && result.awaitingDeleted !== true) {
      const why = result.report.code ?? 'the number of rows awaiting deletion changed';
      return { outcome: 'failed', note: `${why}: nothing that was confirmed is deleted` };
    }
    if (kind === 'resync' && result.report.outcome === 'done')
      await engine.dimensions?.refresh(source.name, true);
    return outcomeOf(result);
  };

  /** Reads each unreadable record again. The source is brought up to date first, and stands still meanwhile. */
  const retryQuarantine = async (source: SourceConfig): Promise<Outcome> => {
    const { report, phase } = await engine.sync.tick(source.name);
    if (report.outcome !== 'done' || phase?.kind !== 'following')
      return { outcome: 'failed', note: report.code ?? 'not listed completely yet' };
    await parts.holds.pause(source.name);
    let changed = 0;
    try {
      const open = await openQuarantine(source.name, parts.config);
      const ids = open.flatMap((id) => parseId('investment', id) ?? []).slice(0, recordsMax);
      for (const id of ids) {
        const read = await readPart(source, { kind: 'investment', id }, parts, engine, stopping.signal);
        changed += read.added + read.changed;
      }
      const left = (await openQuarantine(source.name, parts.config)).length;
      return { outcome: 'done', note: noteOf(ids.length, open.length, left) };
    } finally {
      parts.holds.resume(source.name);
      if (changed > 0) parts.onChanged();
    }
  };

  const look = async () => {
    // What is performed now may be done, but still listed, when the list arrives.
    const performed = new Set(busy);
    const waiting = await requests.list();
    if (waiting.length === 0) return;
    const paused = new Set((await pauses.list()).map(({ source }) => source));
    for (const request of waiting) {
      const source = engine.sources.find(request.source);
      if (source === undefined || paused.has(source.name)) continue;
      if (performed.has(source.name) || busy.has(source.name)) continue;
      if (!parts.worksHere(source.name)) continue;
      busy.add(source.name);
      void perform(request, source)
        .catch((error: unknown) => logger.warn({ error, source: source.name }, 'a request was not recorded'))
        .finally(() => busy.delete(source.name));
    }
  };

  const lookAgain = readEachSecond(look, parts, 'the requests could not be read');
  const run = async () => {
    while (!stopping.signal.aborted) {
      asleep = new Interrupter();
      await lookAgain();
      await clock.wait(lookMillis, asleep);
    }
  };
  const running = run();
  return {
    look: () => asleep.abort(),
    close: async () => {
      stopping.abort();
      asleep.abort();
      await running;
      // Ticks end with the scheduler, which closes later. Single records are read by this watch alone.
      await Promise.allSettled(reading);
    },
  };
}

function outcomeOf({ report }: TickResult): Outcome {
  const { applied, pages, code, outcome } = report;
  const figures = `${counted(pages, 'page')}, ${applied.added} added, ${applied.changed} changed, ${applied.removed} removed`;
  if (outcome === 'done') return { outcome: 'done', note: figures };
  // A tick that waits for the quota goes on by itself.
  return { outcome: outcome === 'failed' ? 'failed' : 'done', note: `${code ?? outcome} after ${figures}` };
}

function noteOf(read: number, before: number, left: number): string {
  const without = before > read ? `; ${before - read} more wait for a listing` : '';
  return `${counted(read, 'record')} read again, ${left} still in quarantine${without}`;
}

/** Returns whether a stopped or killed process began the requested listing: the next tick continues it. */
async function hasBegun({ source, asked_at }: OperatorRequest, { database }: Config): Promise<boolean> {
  const listing = await readMirror(database, (db) =>
    db
      .selectFrom('listings')
      .innerJoin('sources', 'sources.no', 'listings.source_no')
      .select('listings.started_at')
      .where('sources.name', '=', source)
      .where('listings.started_at', '>=', asked_at)
      .executeTakeFirst(),
  );
  return listing !== undefined;
}

async function openQuarantine(
  source: SourceName,
  { database }: Config,
): Promise<readonly (string | undefined)[]> {
  const rows = await readMirror(database, (db) =>
    db
      .selectFrom('quarantine')
      .select('id')
      .where('source', '=', source)
      .where('resolved_at', 'is', null)
      .orderBy('quarantine_no')
      .execute(),
  );
  return rows.map(({ id }) => id ?? undefined);
}
