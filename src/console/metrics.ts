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
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name: `rosterd_${name}`, help, labelNames, registers: [registry] });

  gauge('build_info', 'Version of rosterd and Node', 'version', 'node').set(
    { version, node: process.version },
    1,
  );
  gauge('mirror_readable', 'Whether the mirror could be read for this scrape').set(status === null ? 0 : 1);
  const known = gauge('daemon_problems', 'Number of problems that the running daemon reports', 'severity');
  for (const severity of ['ill', 'attention'] as const)
    known.set({ severity }, problems.filter((one) => one.severity === severity).length);
  const problem = gauge(
    'daemon_problem',
    'Whether the running daemon reports this problem',
    'key',
    'severity',
  );
  // Each source can have problems of its own.
  for (const { key, severity } of problems.slice(0, problemsMax)) problem.set({ key, severity }, 1);
  if (status !== null) aggregates(status, gauge);
  const state = gauge('source_health', 'Whether a source is in this state', 'source', 'state');
  const followed = gauge('source_followed', 'Whether a configuration names the source', 'source');
  const through = gauge('published_through_timestamp_seconds', 'Data is complete up to this time', 'source');
  const success = gauge('sync_last_success_timestamp_seconds', 'End of the last successful tick', 'source');
  const expiry = gauge(
    'cursor_expires_timestamp_seconds',
    'When the platform may expire the cursor',
    'source',
  );
  const saved = gauge('cursor_saved_timestamp_seconds', 'When the cursor was last stored', 'source');
  const used = gauge('api_budget_used_ratio', 'Used share of the hourly request quota', 'source');
  const rows = gauge('records_visible', 'Investments visible to readers', 'source');
  const incoming = gauge('bootstrap_rows', 'Rows that a running listing has fetched', 'source');
  const aside = gauge('records_quarantined', 'Unreadable records in quarantine', 'source');
  const awaiting = gauge(
    'awaiting_deletion',
    'Rows missing from the last listing, whose deletion a person must accept',
    'source',
  );
  const names = gauge('names_incomplete', 'Whether names are missing that a re-listing will fetch', 'source');
  const paused = gauge('source_paused', 'Whether an operator paused the source', 'source');
  const quiet = gauge('source_quiet', 'Whether a listing waits for the end of the quiet hours', 'source');
  for (const source of status?.sources ?? []) {
    const label = { source: source.source };
    for (const one of states) state.set({ ...label, state: one }, source.health === one ? 1 : 0);
    followed.set(label, source.followed ? 1 : 0);
    setTime(through, label, source.complete_up_to);
    setTime(success, label, source.last_success_at);
    setTime(expiry, label, source.cursor_expires_at);
    setTime(saved, label, source.cursor_saved_at);
    const quota = counts.quotas[source.source];
    if (quota !== undefined) used.set(label, 1 - quota.left / quota.limit);
    rows.set(label, source.rows);
    incoming.set(label, source.rows_incoming);
    aside.set(label, source.quarantine_open);
    awaiting.set(label, source.awaiting_deletion);
    names.set(label, source.names_incomplete);
    paused.set(label, source.paused_at === null ? 0 : 1);
    quiet.set(label, isQuiet(source, status?.at ?? '') ? 1 : 0);
  }
  const waiting = gauge('waiting', 'Queued work', 'queue', 'state');
  // Without a status, a missing metric is better than a zero.
  if (status !== null) {
    for (const queue of ['inbox', 'notices', 'alerts'] as const)
      for (const one of ['pending', 'given_up'] as const)
        waiting.set({ queue: queue === 'inbox' ? 'webhooks' : queue, state: one }, status[queue][one]);
    gauge('erasures_pending', 'Erasures that are not yet scrubbed from the database files').set(
      status.erasures.pending,
    );
    gauge('change_seq', 'Number of the newest change').set(status.change_seq);
    if (status.backup !== null) {
      gauge('backups', 'Scheduled backups in their folder').set(status.backup.count);
      const newest = gauge(
        'backup_last_success_timestamp_seconds',
        'When the newest scheduled backup was made',
      );
      if (status.backup.newest_at !== null) newest.set(Date.parse(status.backup.newest_at) / 1000);
    }
    if (status.exports !== null) {
      gauge('exports', 'Scheduled exports in their folder').set(status.exports.count);
      const newest = gauge(
        'export_last_success_timestamp_seconds',
        'When the newest scheduled export was made',
      );
      if (status.exports.newest_at !== null) newest.set(Date.parse(status.exports.newest_at) / 1000);
    }
    if (status.lake !== null) {
      const newest = gauge(
        'lake_last_success_timestamp_seconds',
        'When the scheduled lake was last brought up to date',
      );
      if (status.lake.synced_at !== null) newest.set(Date.parse(status.lake.synced_at) / 1000);
    }
  }
  gauge('clock_skew_seconds', 'How far the platform is ahead of this clock').set(counts.clockSkewSeconds);
  if (counts.fleet !== null) {
    gauge('fleet_members', 'Live daemons that share the database').set(counts.fleet.living);
    gauge('fleet_sources', 'Sources that this daemon follows').set(counts.fleet.held);
    gauge('fleet_leads', 'Whether this daemon sends notices and runs maintenance').set(
      counts.fleet.leads ? 1 : 0,
    );
  }
  const deliveries = new Counter({
    name: 'rosterd_webhook_deliveries_total',
    help: 'Webhook requests, by result',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const [result, count] of Object.entries(counts.deliveries)) deliveries.inc({ result }, count);
  if (counts.connections !== null) {
    const { closed, bytes, ...open } = counts.connections;
    const now = gauge('webhook_connections', 'Open connections of the webhook receiver', 'state');
    for (const [state, count] of Object.entries(open)) now.set({ state }, count);
    gauge('webhook_unfinished_bytes', 'Bytes in memory of webhook bodies not yet answered').set(bytes);
    const ended = new Counter({
      name: 'rosterd_webhook_connections_closed_total',
      help: 'Connections the receiver closed before their senders did, by reason',
      labelNames: ['reason'],
      registers: [registry],
    });
    for (const [reason, count] of Object.entries(closed)) ended.inc({ reason }, count);
  }
  if (counts.storage !== null) {
    gauge('db_size_bytes', 'Size of the database file').set(counts.storage.databaseBytes);
    gauge('wal_size_bytes', 'Size of its write-ahead log').set(counts.storage.logBytes);
    gauge('disk_free_bytes', 'Free disk space next to it').set(counts.storage.freeBytes);
  }
  // The conventional name, so that generic dashboards show it.
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    registers: [registry],
  }).set(process.memoryUsage.rss());
  return await Registry.merge([registry, processed.registry]).metrics();
}

type MakeGauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) => Gauge<Label>;

/** Figures over all sources, also when only some have series of their own. */
function aggregates({ counts, sources }: StatusSeen, gauge: MakeGauge): void {
  const byState = gauge('sources', 'Number of sources, by state', 'state');
  for (const [state, many] of Object.entries(counts.by_state)) byState.set({ state }, many);
  gauge('source_series', 'Sources with series of their own; the worst, when there are more').set(
    sources.length,
  );
  gauge('sources_unreadable', 'Sources without a complete dataset').set(counts.unreadable);
  gauge('records', 'Investments visible to readers, of all sources').set(counts.rows);
  const oldest = gauge(
    'sync_oldest_success_timestamp_seconds',
    'The oldest of the last successes of all sources that are followed and not paused',
  );
  if (counts.oldest_success_at !== null) oldest.set(Date.parse(counts.oldest_success_at) / 1000);
}

/** Quiet hours are the one wait without an error code. */
function isQuiet({ last_outcome, last_error_code, retry_at }: SourceHealth, at: string): boolean {
  return last_outcome === 'waiting' && last_error_code === null && retry_at !== null && retry_at > at;
}

function setTime(target: Gauge<'source'>, label: { source: string }, time: string | null): void {
  if (time !== null) target.set(label, Date.parse(time) / 1000);
}
