import { Gauge, Registry } from 'prom-client';
import type { ProcessCounts, StatusSeen } from './ports.js';

const states = ['ok', 'working', 'failing', 'attention'] as const;

/**
 * Metrics in the text format of Prometheus, made anew for each scrape from what the mirror says, so that they agree
 * with `rosterd status`. Times are times, not ages; sources are labels, people never.
 */
export async function metricsText(
  status: StatusSeen,
  counts: ProcessCounts,
  version: string,
): Promise<string> {
  const registry = new Registry();
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name: `rosterd_${name}`, help, labelNames, registers: [registry] });

  gauge('build_info', 'Version of rosterd and Node', 'version', 'node').set(
    { version, node: process.version },
    1,
  );
  const state = gauge('source_health', 'Whether a source is in this state', 'source', 'state');
  const through = gauge('published_through_timestamp_seconds', 'Data is complete up to this time', 'source');
  const success = gauge('sync_last_success_timestamp_seconds', 'End of the last successful tick', 'source');
  const expiry = gauge(
    'cursor_expires_timestamp_seconds',
    'When the platform may forget the position',
    'source',
  );
  const rows = gauge('records_visible', 'Investments readers see', 'source');
  const incoming = gauge('bootstrap_rows', 'Rows of a listing under way', 'source');
  const aside = gauge(
    'records_quarantined',
    'Records set aside and not yet followed by a readable version',
    'source',
  );
  for (const source of status.sources) {
    const label = { source: source.source };
    for (const one of states) state.set({ ...label, state: one }, source.health === one ? 1 : 0);
    setTime(through, label, source.complete_up_to);
    setTime(success, label, source.last_success_at);
    setTime(expiry, label, source.cursor_expires_at);
    rows.set(label, source.rows);
    incoming.set(label, source.rows_incoming);
    aside.set(label, source.quarantine_open);
  }
  const waiting = gauge('waiting', 'Work that waits', 'queue', 'state');
  waiting.set({ queue: 'webhooks', state: 'pending' }, status.inbox.pending);
  waiting.set({ queue: 'webhooks', state: 'given_up' }, status.inbox.given_up);
  waiting.set({ queue: 'notices', state: 'pending' }, status.notices.pending);
  waiting.set({ queue: 'notices', state: 'given_up' }, status.notices.given_up);
  gauge('erasures_pending', 'Erasures whose bytes may still stand in the file').set(status.erasures.pending);
  gauge('change_seq', 'Number of the newest change').set(status.change_seq);
  gauge('clock_skew_seconds', 'How far the platform is ahead of this clock').set(counts.clockSkewSeconds);
  const deliveries = gauge('webhook_deliveries', 'Webhook requests since the start, by result', 'result');
  for (const [result, count] of Object.entries(counts.deliveries)) deliveries.set({ result }, count);
  gauge('process_resident_memory_bytes', 'Resident memory').set(process.memoryUsage.rss());
  return await registry.metrics();
}

function setTime(target: Gauge<'source'>, label: { source: string }, time: string | null): void {
  if (time !== null) target.set(label, Date.parse(time) / 1000);
}
