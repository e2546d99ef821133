import { Counter, Gauge, Registry } from 'prom-client';
import type { ProblemSeen, ProcessCounts, SourceHealth, StatusSeen } from './ports.js';
import type { ProcessMetrics } from './process-metrics.js';

/** Problems with a series of their own. */
const problemsMax = 200;

const states = ['ok', 'working', 'failing', 'attention'] as const;

/**
 * Returns metrics in the Prometheus text format, computed from the mirror for each scrape so that they agree with
 * `rosterd status`. Times are timestamps, not ages. Labels name sources, never people. When the mirror cannot be read,
 * there is no status and only the metrics of the process are returned.
 */
export async function metricsText(
  status: StatusSeen | null,
  problems: readonly ProblemSeen[],
  counts: ProcessCounts,
  processed: ProcessMetrics,
  version: string,
): Promise<string> {
  const registry = new Registry();
  const make = new Maker(registry);
  make
    .gauge('build_info', 'Version of rosterd and Node', 'version', 'node')
    .set({ version, node: process.version }, 1);
  make
    .gauge('mirror_readable', 'Whether the mirror could be read for this scrape')
    .set(status === null ? 0 : 1);
  addProblems(make, problems);
  if (status !== null) addTotals(make, status);
  addSources(make, status, counts.quotas);
  addQueues(make, status);
  if (status !== null) {
    make.gauge('change_seq', 'Number of the newest change').set(status.change_seq);
    addScheduledFiles(make, status);
  }
  make
    .gauge('clock_skew_seconds', 'How far the platform is ahead of this clock')
    .set(counts.clockSkewSeconds);
  if (counts.fleet !== null) addFleet(make, counts.fleet);
  addDeliveries(make, counts.deliveries);
  if (counts.connections !== null) addConnections(make, counts.connections);
  if (counts.storage !== null) addStorage(make, counts.storage);
  // The conventional name, so that generic dashboards show it.
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    registers: [registry],
  }).set(process.memoryUsage.rss());
  return await Registry.merge([registry, processed.registry]).metrics();
}

/** Creates the metrics of one scrape. */
class Maker {
  constructor(private readonly registry: Registry) {}

  gauge<Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name: `rosterd_${name}`, help, labelNames, registers: [this.registry] });
  }

  counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name: `rosterd_${name}`, help, labelNames, registers: [this.registry] });
  }
}

function addProblems(make: Maker, problems: readonly ProblemSeen[]): void {
  const known = make.gauge(
    'daemon_problems',
    'Number of problems that the running daemon reports',
    'severity',
  );
  for (const severity of ['ill', 'attention'] as const)
    known.set({ severity }, problems.filter((one) => one.severity === severity).length);
  const problem = make.gauge(
    'daemon_problem',
    'Whether the running daemon reports this problem',
    'key',
    'severity',
  );
  // Each source can have problems of its own.
  for (const { key, severity } of problems.slice(0, problemsMax)) problem.set({ key, severity }, 1);
}

/** Adds figures over all sources, also when only some have series of their own. */
function addTotals(make: Maker, { counts, sources }: StatusSeen): void {
  const byState = make.gauge('sources', 'Number of sources, by state', 'state');
  for (const [state, many] of Object.entries(counts.by_state)) byState.set({ state }, many);
  make
    .gauge('source_series', 'Sources with series of their own; the worst, when there are more')
    .set(sources.length);
  make.gauge('sources_unreadable', 'Sources without a complete dataset').set(counts.unreadable);
  make.gauge('records', 'Investments visible to readers, of all sources').set(counts.rows);
  const oldest = secondsOf(counts.oldest_success_at);
  // A gauge without labels begins at 0: an alert on the age of that time would fire while all sources are paused.
  if (oldest !== null)
    make
      .gauge(
        'sync_oldest_success_timestamp_seconds',
        'The oldest of the last successes of all sources that are followed and not paused',
      )
      .set(oldest);
}

/** What the values of a source come from beside the source itself. */
interface Scrape {
  readonly at: string;
  readonly quotas: ProcessCounts['quotas'];
}

/** The gauges with one series per source. Null leaves a series out. */
const sourceGauges: readonly (readonly [
  name: string,
  help: string,
  value: (source: SourceHealth, scrape: Scrape) => number | null,
])[] = [
  ['source_followed', 'Whether a configuration names the source', (one) => Number(one.followed)],
  [
    'published_through_timestamp_seconds',
    'Data is complete up to this time',
    (one) => secondsOf(one.complete_up_to),
  ],
  [
    'sync_last_success_timestamp_seconds',
    'End of the last successful tick',
    (one) => secondsOf(one.last_success_at),
  ],
  [
    'cursor_expires_timestamp_seconds',
    'When the platform may expire the cursor',
    (one) => secondsOf(one.cursor_expires_at),
  ],
  [
    'cursor_saved_timestamp_seconds',
    'When the cursor was last stored',
    (one) => secondsOf(one.cursor_saved_at),
  ],
  ['api_budget_used_ratio', 'Used share of the hourly request quota', usedShare],
  ['records_visible', 'Investments visible to readers', (one) => one.rows],
  ['bootstrap_rows', 'Rows that a running listing has fetched', (one) => one.rows_incoming],
  ['records_quarantined', 'Unreadable records in quarantine', (one) => one.quarantine_open],
  [
    'awaiting_deletion',
    'Rows missing from the last listing, whose deletion a person must accept',
    (one) => one.awaiting_deletion,
  ],
  [
    'names_incomplete',
    'Whether names are missing that a re-listing will fetch',
    (one) => one.names_incomplete,
  ],
  ['source_paused', 'Whether an operator paused the source', (one) => Number(one.paused_at !== null)],
  [
    'source_quiet',
    'Whether a listing waits for the end of the quiet hours',
    (one, { at }) => Number(isQuiet(one, at)),
  ],
];

/** Adds the metrics of each source. Without a status, they have no series. */
function addSources(make: Maker, status: StatusSeen | null, quotas: ProcessCounts['quotas']): void {
  const sources = status?.sources ?? [];
  const scrape = { at: status?.at ?? '', quotas };
  const state = make.gauge('source_health', 'Whether a source is in this state', 'source', 'state');
  for (const { source, health } of sources)
    for (const one of states) state.set({ source, state: one }, Number(health === one));
  for (const [name, help, read] of sourceGauges) {
    const gauge = make.gauge(name, help, 'source');
    for (const source of sources) {
      const value = read(source, scrape);
      if (value !== null) gauge.set({ source: source.source }, value);
    }
  }
}

/** Without a status, a missing value is better than a zero. */
function addQueues(make: Maker, status: StatusSeen | null): void {
  const waiting = make.gauge('waiting', 'Queued work', 'queue', 'state');
  if (status === null) return;
  for (const queue of ['inbox', 'notices', 'alerts'] as const)
    for (const one of ['pending', 'given_up'] as const)
      waiting.set({ queue: queue === 'inbox' ? 'webhooks' : queue, state: one }, status[queue][one]);
  make
    .gauge('erasures_pending', 'Erasures that are not yet scrubbed from the database files')
    .set(status.erasures.pending);
}

/** A schedule that has made no file yet has the time 0, so that an alert on the age of its newest file fires. */
function addScheduledFiles(make: Maker, { backup, exports, lake }: StatusSeen): void {
  if (backup !== null) {
    make.gauge('backups', 'Scheduled backups in their folder').set(backup.count);
    const newest = make.gauge(
      'backup_last_success_timestamp_seconds',
      'When the newest scheduled backup was made',
    );
    setTime(newest, backup.newest_at);
  }
  if (exports !== null) {
    make.gauge('exports', 'Scheduled exports in their folder').set(exports.count);
    const newest = make.gauge(
      'export_last_success_timestamp_seconds',
      'When the newest scheduled export was made',
    );
    setTime(newest, exports.newest_at);
  }
  if (lake !== null) {
    const newest = make.gauge(
      'lake_last_success_timestamp_seconds',
      'When the scheduled lake was last brought up to date',
    );
    setTime(newest, lake.synced_at);
  }
}

function addFleet(make: Maker, { living, held, leads }: NonNullable<ProcessCounts['fleet']>): void {
  make.gauge('fleet_members', 'Live daemons that share the database').set(living);
  make.gauge('fleet_sources', 'Sources that this daemon follows').set(held);
  make.gauge('fleet_leads', 'Whether this daemon sends notices and runs maintenance').set(leads ? 1 : 0);
}

function addDeliveries(make: Maker, counts: ProcessCounts['deliveries']): void {
  const deliveries = make.counter('webhook_deliveries_total', 'Webhook requests, by result', 'result');
  for (const [result, count] of Object.entries(counts)) deliveries.inc({ result }, count);
}

function addConnections(make: Maker, counts: NonNullable<ProcessCounts['connections']>): void {
  const { closed, bytes, ...open } = counts;
  const now = make.gauge('webhook_connections', 'Open connections of the webhook receiver', 'state');
  for (const [state, count] of Object.entries(open)) now.set({ state }, count);
  make.gauge('webhook_unfinished_bytes', 'Bytes in memory of webhook bodies not yet answered').set(bytes);
  const ended = make.counter(
    'webhook_connections_closed_total',
    'Connections the receiver closed before their senders did, by reason',
    'reason',
  );
  for (const [reason, count] of Object.entries(closed)) ended.inc({ reason }, count);
}

function addStorage(make: Maker, storage: NonNullable<ProcessCounts['storage']>): void {
  make.gauge('db_size_bytes', 'Size of the database file').set(storage.databaseBytes);
  make.gauge('wal_size_bytes', 'Size of its write-ahead log').set(storage.logBytes);
  make.gauge('disk_free_bytes', 'Free disk space next to it').set(storage.freeBytes);
}

/** Quiet hours are the one wait without an error code. */
function isQuiet({ last_outcome, last_error_code, retry_at }: SourceHealth, at: string): boolean {
  return last_outcome === 'waiting' && last_error_code === null && retry_at !== null && retry_at > at;
}

function usedShare({ source }: SourceHealth, { quotas }: Scrape): number | null {
  const quota = quotas[source];
  return quota === undefined ? null : 1 - quota.left / quota.limit;
}

function setTime(gauge: Gauge, time: string | null): void {
  const seconds = secondsOf(time);
  if (seconds !== null) gauge.set(seconds);
}

function secondsOf(time: string | null): number | null {
  return time === null ? null : Date.parse(time) / 1000;
}
