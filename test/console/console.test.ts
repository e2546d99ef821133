import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type ConsoleParts, createConsole } from '../../src/console/console.js';
import type { ProblemSeen, SourceHealth, StatusSeen } from '../../src/console/ports.js';
import { ProcessMetrics } from '../../src/console/process-metrics.js';
import { Fault } from '../../src/domain/fault.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { testRandom } from '../support/chance.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { counts, countsOf, oneToken } from './running-console.js';

const acme: SourceHealth = {
  source: 'acme',
  health: 'ok',
  state: 'following',
  readable: 1,
  rows: 12,
  rows_incoming: 0,
  complete_up_to: '2026-10-20T12:00:00.000Z',
  cursor_expires_at: null,
  cursor_saved_at: '2026-10-20T11:00:00.000Z',
  last_success_at: null,
  last_error_code: null,
  last_outcome: 'done',
  retry_at: null,
  quarantine_open: 2,
  awaiting_deletion: 3,
  names_incomplete: 1,
  paused_at: null,
  followed: true,
  webhook_spacing: null,
  listing: null,
};

const status = (...sources: SourceHealth[]): StatusSeen => ({
  at: '2026-10-20T12:00:01.000Z',
  health: sources[0]?.health ?? 'working',
  counts: countsOf(sources),
  truncated: false,
  sources,
  change_seq: 7,
  inbox: { pending: 3, given_up: 0 },
  notices: { pending: 0, given_up: 1 },
  alerts: { pending: 0, given_up: 2 },
  erasures: { pending: 4 },
  problems: [],
  waits: [],
  backup: null,
  exports: null,
  lake: null,
});

async function consoleOver(
  read: (sourcesMax?: number) => Promise<StatusSeen>,
  processed = new ProcessMetrics(200),
  problems: readonly ProblemSeen[] = [],
  auth: ConsoleParts['auth'] = null,
  clock: Clock = systemClock,
) {
  const shown = createConsole({
    source: {
      status: read,
      problems: () => problems,
      waits: () => [],
      spacings: () => ({}),
      log: () => [],
      counts: async () => counts,
    },
    // These tests request none of its pages.
    dashboard: { mirrorOf: 'a platform', onChange: () => () => {} } as unknown as ConsoleParts['dashboard'],
    operations: {} as ConsoleParts['operations'],
    processed,
    metricsSources: 2,
    auth,
    hosts: [],
    host: '127.0.0.1',
    clock,
    random: testRandom(),
    logger: silentLogger,
    version: '1.2.3',
  });
  onTestFinished(() => shown.close());
  const { port } = await shown.listen(0);
  return { port, get: (path: string) => fetch(`http://127.0.0.1:${port}${path}`) };
}

test('livez, readyz and healthz report three different things', async () => {
  const listing: SourceHealth = { ...acme, health: 'working', state: 'listing', readable: 0 };
  const { get } = await consoleOver(async () => status(listing, acme));
  expect((await get('/livez')).status).toBe(200);
  const ready = await get('/readyz');
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { ready: false, waiting: ['acme'], waiting_count: 1, problems: [] },
  ]);
  const healthy = await get('/healthz');
  expect(healthy.status).toBe(200);
  expect(await healthy.json()).toEqual({
    health: 'working',
    reasons: [{ source: 'acme', health: 'working', state: 'listing', code: null }],
    by_state: countsOf([listing, acme]).by_state,
    problems: [],
  });
  expect((await get('/healthz?strict=1')).status).toBe(503);
});

test('the console keeps an idle connection for longer than the minute after which a proxy closes it', async () => {
  const { get } = await consoleOver(async () => status(acme));
  expect((await get('/livez')).headers.get('keep-alive')).toBe('timeout=65');
});

test('metrics: a source is quiet while its listing waits for the end of the quiet hours', async () => {
  const waiting = { ...acme, last_outcome: 'waiting', retry_at: '2026-10-20T18:00:00.000Z' };
  const quietOf = async (source: SourceHealth) => {
    const { get } = await consoleOver(async () => status(source));
    return /^rosterd_source_quiet\{source="acme"\} (\d)$/m.exec(await (await get('/metrics')).text())?.[1];
  };
  expect(await quietOf(waiting)).toBe('1');
  expect(await quietOf({ ...waiting, last_error_code: 'rate_limited' })).toBe('0');
  expect(await quietOf({ ...waiting, retry_at: '2026-10-20T12:00:00.000Z' })).toBe('0');
  expect(await quietOf(acme)).toBe('0');
});

test('a daemon that has mirrored nothing yet is not ready', async () => {
  const { get } = await consoleOver(async () => status());
  expect((await get('/readyz')).status).toBe(503);
});

test('/status.json serves the whole status document', async () => {
  const { get } = await consoleOver(async () => status(acme));
  expect(await (await get('/status.json')).json()).toEqual(status(acme));
});

test('metrics use base units and have sources as labels', async () => {
  const processed = new ProcessMetrics(200);
  const applied = { added: 2, changed: 1, removed: 0, quarantined: 0 };
  processed.ticked('acme', { trigger: 'webhook', outcome: 'done', tookMs: 80, applied });
  processed.ticked('acme', { trigger: 'timer', outcome: 'failed', tookMs: 2_000, applied });
  const { get } = await consoleOver(async () => status(acme), processed);
  const text = await (await get('/metrics')).text();
  for (const line of [
    'rosterd_source_health{source="acme",state="ok"} 1',
    'rosterd_source_health{source="acme",state="failing"} 0',
    'rosterd_published_through_timestamp_seconds{source="acme"} 1792497600',
    'rosterd_records_visible{source="acme"} 12',
    'rosterd_records_quarantined{source="acme"} 2',
    'rosterd_awaiting_deletion{source="acme"} 3',
    'rosterd_names_incomplete{source="acme"} 1',
    'rosterd_waiting{queue="webhooks",state="pending"} 3',
    'rosterd_waiting{queue="notices",state="given_up"} 1',
    'rosterd_waiting{queue="alerts",state="given_up"} 2',
    'rosterd_erasures_pending 4',
    'rosterd_webhook_deliveries_total{result="accepted"} 5',
    'rosterd_cursor_saved_timestamp_seconds{source="acme"} 1792494000',
    'rosterd_api_budget_used_ratio{source="acme"} 0.36',
    'rosterd_db_size_bytes 4096',
    'rosterd_wal_size_bytes 512',
    'rosterd_disk_free_bytes 1000000',
    'rosterd_sync_runs_total{source="acme",cause="webhook",result="done"} 1',
    'rosterd_sync_duration_seconds_bucket{le="0.1",source="acme"} 1',
    'rosterd_sync_duration_seconds_sum{source="acme"} 2.08',
    'rosterd_records_applied_total{source="acme",kind="added"} 4',
    'rosterd_clock_skew_seconds 1.5',
    'rosterd_webhook_connections{state="waiting"} 7',
    'rosterd_webhook_unfinished_bytes 900',
    'rosterd_webhook_connections_closed_total{reason="evicted"} 4',
    'rosterd_webhook_connections_closed_total{reason="refused"} 0',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});

test('metrics: without a successful tick, or with all sources paused, the oldest success is left out', async () => {
  const at = '2026-10-20T12:00:00.000Z';
  const metricsFor = async (oldest_success_at: string | null) => {
    const shown = status(acme);
    const { get } = await consoleOver(async () => ({
      ...shown,
      counts: { ...shown.counts, oldest_success_at },
    }));
    return await (await get('/metrics')).text();
  };
  expect(await metricsFor(at)).toContain('\nrosterd_sync_oldest_success_timestamp_seconds 1792497600\n');
  expect(await metricsFor(null)).not.toContain('rosterd_sync_oldest_success_timestamp_seconds');
});

test('an unreadable mirror is reported in one sentence while the process is alive', async () => {
  const { get } = await consoleOver(async () => {
    throw new Fault('database_unusable', 'the mirror is damaged');
  });
  expect((await get('/livez')).status).toBe(200);
  const answer = await get('/healthz');
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { health: 'attention', code: 'database_unusable', message: 'the mirror is damaged', problems: [] },
  ]);
});

test('a request for an unknown host name is rejected', async () => {
  const { port } = await consoleOver(async () => status(acme));
  const statusCode = await new Promise((resolve, reject) => {
    request(
      { port, host: '127.0.0.1', path: '/status.json', headers: { host: 'evil.example' } },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    )
      .on('error', reject)
      .end();
  });
  expect(statusCode).toBe(421);
});

const diskFull: ProblemSeen = {
  key: 'tick.acme',
  severity: 'ill',
  source: 'acme',
  since: '2026-10-20T11:59:00.000Z',
  text: 'its last tick failed and could not be written down: no room left',
};

test('a daemon that cannot do its work is alive but not healthy or ready; one that needs attention is both', async () => {
  const over = (...problems: ProblemSeen[]) =>
    consoleOver(async () => ({ ...status(acme), problems }), new ProcessMetrics(200), problems);
  const codes = async ({ get }: Awaited<ReturnType<typeof over>>) =>
    Promise.all(['/livez', '/readyz', '/healthz'].map(async (path) => (await get(path)).status));
  expect(await codes(await over())).toEqual([200, 200, 200]);
  const skew: ProblemSeen = { ...diskFull, key: 'clock-skew', severity: 'attention' };
  expect(await codes(await over(skew))).toEqual([200, 200, 200]);
  const ill = await over(diskFull, skew);
  expect(await codes(ill)).toEqual([200, 503, 503]);
  expect(await (await ill.get('/healthz')).json()).toMatchObject({ problems: [diskFull, skew] });
  const text = await (await ill.get('/metrics')).text();
  expect(text).toContain('rosterd_daemon_problems{severity="ill"} 1\n');
  expect(text).toContain('rosterd_daemon_problem{key="clock-skew",severity="attention"} 1\n');
  expect(text).toContain('rosterd_source_followed{source="acme"} 1\n');
});

test('with an unreadable mirror the metrics of the process report it', async () => {
  const { get } = await consoleOver(
    async () => {
      throw new Fault('database_busy', 'the server is away');
    },
    new ProcessMetrics(200),
    [diskFull],
  );
  const answer = await get('/metrics');
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(text).toContain('rosterd_mirror_readable 0\n');
  expect(text).toContain('rosterd_daemon_problems{severity="ill"} 1\n');
  expect(text).not.toContain('rosterd_change_seq 0');
  expect(await (await get('/healthz')).json()).toMatchObject({ problems: [diskFull] });
});

test('while a silent database keeps the status waiting, probes and metrics answer from memory once the daemon is ill', async () => {
  const silent = () => new Promise<never>(() => {});
  const problems: ProblemSeen[] = [];
  const clock = new VirtualClock();
  const { get } = await consoleOver(silent, new ProcessMetrics(200), problems, null, clock);
  const paths = ['/readyz', '/healthz', '/metrics'];
  const asked = paths.map((path) => get(path));
  const answered: string[] = [];
  asked.forEach((answer, at) => void answer.then(() => answered.push(paths[at] ?? '')));
  await expect.poll(() => clock.sleeping).toBe(paths.length);
  await clock.advance(10_000);
  expect(answered).toEqual([]);
  problems.push(diskFull);
  await clock.advance(500);
  const [ready, healthy, metrics] = await Promise.all(asked);
  expect(ready?.status).toBe(503);
  expect(await ready?.json()).toMatchObject({ code: 'database_busy', problems: [diskFull] });
  expect(healthy?.status).toBe(503);
  expect(await metrics?.text()).toContain('rosterd_mirror_readable 0\n');
});

test('five hundred open connections of unknown clients do not block a signed-in page or a probe', async () => {
  const { port, get } = await consoleOver(async () => status(acme));
  const held: Socket[] = [];
  for (let count = 0; count < 520; count += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    held.push(socket);
  }
  expect((await get('/livez')).status).toBe(200);
  expect((await get('/status.json')).status).toBe(200);
  await expect.poll(() => held.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(8);
  for (const socket of held) socket.destroy();
});

test('with a sign-in, a failing probe shows strangers the code of the failure and no file or message', async () => {
  const auth = oneToken(async () => 'a long enough token');
  const unreadable = async () => {
    throw new Fault('database_unusable', '/srv/secret/mirror.db is not there yet');
  };
  const { get } = await consoleOver(unreadable, new ProcessMetrics(200), [diskFull], auth);
  for (const path of ['/healthz', '/readyz', '/healthz?strict=1']) {
    const answer = await get(path);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { health: 'attention', code: 'database_unusable' },
    ]);
  }
  const open = await consoleOver(unreadable);
  expect(await (await open.get('/healthz')).text()).toContain('/srv/secret/mirror.db');
});
