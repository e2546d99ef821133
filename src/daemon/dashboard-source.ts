import type { Config } from '../config/config.js';
import type { QuotaSeen } from '../console/ports/activity.js';
import type { CompanySeen } from '../console/ports/company.js';
import type { DashboardSource } from '../console/ports/dashboard.js';
import type { RecordSeen } from '../console/ports/roster.js';
import { Fault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { csv } from '../exports/csv.js';
import { gathered } from '../exports/gather.js';
import { jsonLines } from '../exports/json-lines.js';
import {
  boxLimits,
  boxMemoryMegabytes,
  boxRowBytesMax,
  megabyte,
  runBoxedQuery,
} from '../reading/boxed-query.js';
import { type QueryHandle, queryCsv, runQuery } from '../reading/query.js';
import { queryJsonLines } from '../reading/query-json-lines.js';
import { queryParquet } from '../reading/query-parquet.js';
import { queryXlsx } from '../reading/query-xlsx.js';
import type { MirrorReader } from '../reading/read-mirror.js';
import type { SourceList, SourceShown, SourcesWanted } from '../reading/sources.js';
import type { FullStatus, StatusPart } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { dictionaryRelations } from '../store/dictionary/data-dictionary.js';
import { documentedQueries } from '../store/documented-queries.js';
import { youngerSources } from '../store/reads/as-of.js';
import { readActivity } from '../store/reads/dashboard/activity.js';
import {
  companiesShown,
  companyName,
  goneByDay,
  largestChanges,
  roundsShown,
  totalsByDay,
  totalsByRound,
  totalsByStatus,
} from '../store/reads/dashboard/company.js';
import { withFoundPeople } from '../store/reads/dashboard/find-people.js';
import { companyFigures, readOverview, weeksOf } from '../store/reads/dashboard/overview.js';
import { readPast } from '../store/reads/dashboard/past.js';
import { readPastCompanies, readPastCompany } from '../store/reads/dashboard/past-company.js';
import { readRecord } from '../store/reads/dashboard/record.js';
import { rosterChoices, rosterCount, rosterPage, rosterRows } from '../store/reads/dashboard/roster.js';
import { sourcesCompletingNames } from '../store/reads/nameless-sources.js';
import type { ReadingsApart } from '../store/reads/open-readings.js';

export interface DashboardParts {
  readonly config: Pick<Config, 'database' | 'platform'>;
  /** Returns a source for example queries; empty without sources. */
  readonly firstSource: () => string;
  readonly clock: Clock;
  /** Reads the mirror without blocking the event loop. */
  readonly read: ReadingsApart['read'];
  readonly status: (part?: StatusPart) => Promise<FullStatus>;
  readonly list: (wanted: SourcesWanted) => Promise<SourceList>;
  readonly show: (name: string) => Promise<SourceShown | null>;
  readonly quotaOf: (source: string) => Promise<QuotaSeen | null>;
  readonly onTick: (listener: () => void) => () => void;
}

/** With more sources, the page of operations has the cards of the worst. */
const cardsMax = 24;
const activityRows = 10;
const changeRows = 10;
const largestRows = 15;
/** The count of roster rows stops here: an exact count of a large roster is not worth its time. */
const countMax = 10_001;
/** Building a result page blocks the event loop, so a page is limited more than a file, which is streamed. */
const queryLimits = { ...boxLimits, fileRows: 100_000, fileMegabytes: 256 } as const;
const fileSeconds = 30;

/** Returns the mirror as the dashboard reads it. */
export function dashboardSource({
  config,
  clock,
  read,
  firstSource,
  status,
  list,
  show,
  quotaOf,
  onTick,
}: DashboardParts): DashboardSource {
  const location = config.database;
  const dialect = dialectFor(location);
  return {
    mirrorOf: new URL(config.platform.baseUrl).host,
    queryLimits,
    // The example source of the documentation is replaced by one that is followed.
    get queries() {
      const source = firstSource();
      return documentedQueries.map((query) => ({
        ...query,
        sql: dialect.sqlOf(query).replaceAll(`'acme'`, `'${source}'`),
      }));
    },
    overview: async () => {
      const seen = await status();
      return { ...seen, ...(await read((db) => readOverview(db, clock.now(), changeRows))) };
    },
    operations: async () => {
      const { sources, ...seen } = await status({ sourcesMax: cardsMax });
      const counted = sources.map(async (one) => ({ ...one, quota: await quotaOf(one.source) }));
      const activity = await read((db) => readActivity(db, activityRows));
      return { ...seen, sources: await Promise.all(counted), activity };
    },
    sources: list,
    source: async (name) => {
      const seen = await show(name);
      if (seen === null) return null;
      const { follow, ...one } = seen;
      return {
        ...one,
        at: instantFromMillis(clock.now()),
        quota: await quotaOf(name),
        erase_after: follow?.erase_after ?? null,
        erased_at: follow?.erased_at ?? null,
      };
    },
    overviewAsOf: (at, gone) => read((db) => readPast(db, at, changeRows), gone),
    companies: () => read((db) => companiesShown(db)),
    company: (source, company, gone) => read((db) => companyOf(db, source, company, clock.now()), gone),
    companiesAsOf: (at, gone) => read((db) => readPastCompanies(db, at), gone),
    companyAsOf: (source, company, at, gone) =>
      read(async (db) => {
        const then = await readPastCompany(db, source, company, at, clock.now(), largestRows);
        const isEmpty = then.name === null && then.byStatus.length === 0 && then.leftByDay.length === 0;
        if (isEmpty && (await companyOf(db, source, company, clock.now())) === null) return null;
        return then;
      }, gone),
    roster: (wanted, gone) =>
      read(async (db) => {
        const { asOf } = wanted;
        const filter = asOf === undefined ? await withFoundPeople(db, wanted.filter) : wanted.filter;
        return {
          younger: asOf === undefined ? [] : await youngerSources(db, asOf),
          completingNames: wanted.identity ? await sourcesCompletingNames(db, filter.source) : [],
          rows: await rosterPage(db, { ...wanted, filter }),
          count: await rosterCount(db, filter, countMax, asOf),
          countMax,
          choices: await rosterChoices(db, asOf),
        };
      }, gone),
    record: (source, id, identity) => read((db) => recordOf(db, source, id, identity)),
    rosterFile: (wanted, format, take) =>
      read(async (db) => {
        const { identity, asOf } = wanted;
        if (asOf !== undefined) await youngerSources(db, asOf);
        const filter = asOf === undefined ? await withFoundPeople(db, wanted.filter) : wanted.filter;
        const rows = rosterRows(db, filter, identity, asOf);
        return await take(gathered(format === 'csv' ? csv(rows, { raw: false }) : jsonLines(rows)));
      }),
    query: (sql, reading, signal) => runBoxedQuery(location, sql, reading, clock, signal),
    sqlDialect: location.kind,
    relations: dictionaryRelations,
    queryFile: async (sql, format, reading, signal) => {
      const limits = {
        timeoutMs: fileSeconds * 1_000,
        // A client takes a file of this size over a slow line for longer than that: see `sendMillisMax` of the SQL page.
        countsReader: false,
        rowsMax: queryLimits.fileRows,
        ...reading,
        rowBytesMax: boxRowBytesMax,
        memoryMegabytes: boxMemoryMegabytes,
        bytesMax: queryLimits.fileMegabytes * megabyte,
      };
      const run = () => runQuery(location, sql, limits, clock, signal);
      if (format === 'parquet') return await queryParquet(run, requireWhole, signal);
      if (format === 'xlsx') return await queryXlsx(run, requireWhole);
      const handle = await run();
      return wholeOnly(format === 'csv' ? queryCsv(handle) : queryJsonLines(handle), handle);
    },
    onChange: onTick,
  };
}

async function companyOf(
  db: MirrorReader,
  source: string,
  company: string | null,
  now: number,
): Promise<CompanySeen | null> {
  const seen = {
    name: await companyName(db, source, company),
    byStatus: await totalsByStatus(db, source, company),
    byRound: await totalsByRound(db, source, company),
    byDay: await totalsByDay(db, source, company),
    leftByDay: await goneByDay(db, source, company, 'valid_to'),
    goneByDay: await goneByDay(db, source, company, 'applied_at'),
  };
  if (seen.name === null && seen.byStatus.length === 0 && seen.leftByDay.length === 0) return null;
  const weeks = weeksOf(now);
  const figures = await companyFigures(db, weeks, [{ source, company_id: company }]);
  return {
    ...seen,
    largest: await largestChanges(db, source, company, largestRows),
    figures,
    weeks,
    rounds: await roundsShown(db, source, company),
  };
}

async function recordOf(
  db: MirrorReader,
  source: string,
  id: string,
  identity: boolean,
): Promise<RecordSeen | null> {
  const record = await readRecord(db, source, id, identity);
  if (record === null) return null;
  const versions = record.versions.map(({ valid_from, valid_to, ended_by, ...cells }) => ({
    valid_from,
    valid_to,
    ended_by,
    cells,
  }));
  return { ...record, versions };
}

/** Throws `usage` instead of ending early: the reader of a truncated file could not tell. */
async function* wholeOnly(pieces: AsyncIterable<string>, handle: QueryHandle): AsyncGenerator<string> {
  yield* pieces;
  requireWhole(handle);
}

function requireWhole(handle: QueryHandle): void {
  if (handle.truncated())
    throw new Fault('usage', `the result has more than ${queryLimits.fileRows} rows`, {
      hint: 'rosterd query has no such limit',
    });
}
