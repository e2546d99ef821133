import { Counter, Gauge, Registry } from 'prom-client';
import type { ProblemSeen, ProcessCounts, StatusSeen } from './ports.js';
import type { ProcessMetrics } from './process-metrics.js';

const states = ['ok', 'working', 'failing', 'attention'] as const;

/**
 * Metrics in the text format of Prometheus, made anew for each scrape from what the mirror says, so that they agree
 * with `rosterd status`. Times are times, not ages; sources are labels, people never. Without a status, because the
 * mirror cannot be read, they are those of the process alone.
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
  const known = gauge('daemon_problems', 'What the running daemon knows to be wrong with itself', 'severity');
  for (const severity of ['ill', 'attention'] as const)
    known.set({ severity }, problems.filter((one) => one.severity === severity).length);
  const problem = gauge(
    'daemon_problem',
    'Whether the running daemon reports this problem',
    'key',
    'severity',
  );
  for (const { key, severity } of problems) problem.set({ key, severity }, 1);
  const state = gauge('source_health', 'Whether a source is in this state', 'source', 'state');
  const followed = gauge('source_followed', 'Whether a configuration names the source', 'source');
  const through = gauge('published_through_timestamp_seconds', 'Data is complete up to this time', 'source');
  const success = gauge('sync_last_success_timestamp_seconds', 'End of the last successful tick', 'source');
  const expiry = gauge(
    'cursor_expires_timestamp_seconds',
    'When the platform may forget the position',
    'source',
  );
  const saved = gauge('cursor_saved_timestamp_seconds', 'When the position was last stored', 'source');
  const used = gauge('api_budget_used_ratio', 'Share of the requests of this hour that were made', 'source');
  const rows = gauge('records_visible', 'Investments readers see', 'source');
  const incoming = gauge('bootstrap_rows', 'Rows of a listing under way', 'source');
  const aside = gauge(
    'records_quarantined',
    'Records set aside and not yet followed by a readable version',
    'source',
  );
  const awaiting = gauge(
    'awaiting_deletion',
    'Rows the last listing did not name, whose deletion a person has to accept',
    'source',
  );
  const names = gauge(
    'names_incomplete',
    'Whether names are missing that a re-listing is to bring',
    'source',
  );
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
  }
  const waiting = gauge('waiting', 'Work that waits', 'queue', 'state');
  // Without a status no figure is better than a nought.
  if (status !== null) {
    for (const queue of ['inbox', 'notices'] as const)
      for (const one of ['pending', 'given_up'] as const)
        waiting.set({ queue: queue === 'inbox' ? 'webhooks' : queue, state: one }, status[queue][one]);
    gauge('erasures_pending', 'Erasures whose bytes may still stand in the file').set(
      status.erasures.pending,
    );
    gauge('change_seq', 'Number of the newest change').set(status.change_seq);
  }
  gauge('clock_skew_seconds', 'How far the platform is ahead of this clock').set(counts.clockSkewSeconds);
  if (counts.fleet !== null) {
    gauge('fleet_members', 'Daemons that share the database and live').set(counts.fleet.living);
    gauge('fleet_sources', 'Sources that this daemon works').set(counts.fleet.held);
    gauge('fleet_leads', 'Whether this daemon sends notices and keeps house').set(counts.fleet.leads ? 1 : 0);
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
    gauge('webhook_unfinished_bytes', 'Bytes held of webhook bodies not yet answered').set(bytes);
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
    gauge('disk_free_bytes', 'Room left beside it').set(counts.storage.freeBytes);
  }
  // Everybody's name for it, so that dashboards made for any process show it.
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    registers: [registry],
  }).set(process.memoryUsage.rss());
  return await Registry.merge([registry, processed.registry]).metrics();
}

function setTime(target: Gauge<'source'>, label: { source: string }, time: string | null): void {
  if (time !== null) target.set(label, Date.parse(time) / 1000);
}
