import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { type AlertsParts, watchAlerts } from '../../src/daemon/alerts.js';
import type { Instant } from '../../src/domain/instant.js';
import type { OpenAlert } from '../../src/outbox/ports.js';
import type { JudgedStatus } from '../../src/reading/judged-status.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const minute = 60_000;

const nothing: JudgedStatus = {
  sources: [],
  staleMillis: 5 * minute,
  endpoint: null,
  backup: null,
  exports: null,
  lake: null,
  problems: [],
};

test('alerts: a check that fails is logged as a warning once, and again after one that succeeded', async () => {
  const clock = new VirtualClock();
  const logged: string[] = [];
  const log = (level: string) => (_: unknown, message: string) => void logged.push(`${level} ${message}`);
  const logger: Logger = { ...silentLogger, debug: log('debug'), warn: log('warn') };
  let works = false;
  const watch = watchAlerts({
    alerts: {
      open: async () => [],
      told: async () => [],
      queue: async () => {},
      raise: async () => {},
      mark: async () => {},
      resolve: async () => {},
    },
    config: { alerts: { failingMinutes: 15, diskFreeMegabytes: 1 }, notices: [] },
    clock,
    logger,
    leads: () => true,
    isLed: () => false,
    status: async () => {
      if (!works) throw new Error('the database is away');
      return nothing;
    },
    freeBytes: async () => null,
    tried: () => new Set(),
    onQueued: () => {},
  });
  onTestFinished(() => watch.close());
  await clock.advance(minute);
  expect(logged.length).toBeGreaterThan(1);
  expect(logged.filter((line) => line === 'warn alerts could not be checked')).toHaveLength(1);
  works = true;
  await clock.advance(minute);
  works = false;
  await clock.advance(minute);
  expect(logged.filter((line) => line === 'warn alerts could not be checked')).toHaveLength(2);
});

test('alerts: a stop does not wait for a status that gets no answer', async () => {
  const clock = new VirtualClock();
  let asked = 0;
  const { watch } = watching({}, [], {
    clock,
    status: () => {
      asked += 1;
      return new Promise(() => {});
    },
  });
  await clock.advance(minute);
  expect(asked).toBe(1);
  await watch.close();
});

test('alerts: no look keeps its status in memory', async () => {
  const clock = new VirtualClock();
  const seen: WeakRef<JudgedStatus>[] = [];
  watching({}, [], {
    clock,
    status: async () => {
      const status = { ...nothing };
      seen.push(new WeakRef(status));
      return status;
    },
  });
  await clock.advance(20 * minute);
  collect();
  expect(seen.length).toBeGreaterThan(30);
  expect(seen.filter((one) => one.deref() !== undefined).length).toBeLessThan(3);
});

const overdue = (source: string, paused_at: string | null = null) =>
  ({ source, paused_at, concerns: [{ code: 'overdue', text: 'overdue' }] }) as unknown as OverdueSource;
type OverdueSource = JudgedStatus['sources'][number];

const failing = (source: string) =>
  ({
    ...{ source, paused_at: null, concerns: [], last_outcome: 'failed', last_success_at: null },
    ...{ state: 'following', last_error: 'the platform is away' },
  }) as unknown as JudgedStatus['sources'][number];

/** A watch over a status that the test changes, and what it raised. */
function watching(
  first: Partial<JudgedStatus>,
  open: readonly OpenAlert[] = [],
  more: Partial<AlertsParts> & { readonly clock?: VirtualClock } = {},
) {
  const clock = more.clock ?? new VirtualClock();
  const raised: string[] = [];
  const resolved: string[] = [];
  const now = { status: { ...nothing, ...first }, leads: true, isLed: false };
  const alerts: AlertsParts['alerts'] = {
    open: async () => open,
    told: async () => [],
    queue: async () => {},
    raise: async (some) => void raised.push(...some.map(({ key }) => key)),
    mark: async (keys) => void resolved.push(...keys),
    resolve: async () => {},
  };
  const watch = watchAlerts({
    alerts,
    config: { alerts: { failingMinutes: 15, diskFreeMegabytes: 1 }, notices: [] },
    clock,
    logger: silentLogger,
    leads: () => now.leads,
    isLed: () => now.isLed,
    status: async () => now.status,
    freeBytes: async () => null,
    tried: () => new Set(),
    onQueued: () => {},
    ...more,
  });
  onTestFinished(() => watch.close());
  return { clock, raised, resolved, now, watch };
}

test('alerts: ticks and files that were due before the start are reported only when they are still due after their time', async () => {
  const sources = [overdue('acme')];
  const files = { overdue: true } as unknown as NonNullable<JudgedStatus['lake']> &
    NonNullable<JudgedStatus['exports']> &
    NonNullable<JudgedStatus['backup']>;
  const { clock, raised, now } = watching({ sources, lake: files, exports: files, backup: files });
  await clock.advance(4 * minute);
  expect(raised).toEqual([]);
  await clock.advance(2 * minute);
  expect(new Set(raised)).toEqual(new Set(['stale.acme']));
  await clock.advance(10 * minute);
  expect(new Set(raised)).toEqual(new Set(['stale.acme', 'lake_failed', 'export_failed', 'backup_failed']));
  // Another host led meanwhile, and ended.
  Object.assign(now, { leads: false, isLed: true });
  await clock.advance(minute);
  Object.assign(now, { leads: true, isLed: false });
  raised.length = 0;
  await clock.advance(4 * minute);
  expect(raised).toEqual([]);
});

test('alerts: a leader goes on where it was after a time in which it got no heartbeats and none led', async () => {
  const { clock, raised, now } = watching({ sources: [overdue('acme')] });
  await clock.advance(3 * minute);
  now.leads = false;
  await clock.advance(minute);
  expect(raised).toEqual([]);
  now.leads = true;
  await clock.advance(2 * minute);
  expect(new Set(raised)).toEqual(new Set(['stale.acme']));
});

test.each([
  ['that slept for a night', -480 * minute],
  ['whose clock was set back', 480 * minute],
])('alerts: a machine %s reports what is overdue only when it is not done in its time', async (_, back) => {
  const { clock, raised, now } = watching({ sources: [] });
  await clock.advance(20 * minute);
  clock.setBack(back);
  now.status = { ...now.status, sources: [overdue('acme')] };
  await clock.advance(4 * minute);
  expect(raised).toEqual([]);
  await clock.advance(2 * minute);
  expect(new Set(raised)).toEqual(new Set(['stale.acme']));
});

test('alerts: the time in which the machine slept is no time in which a source failed', async () => {
  const { clock, raised } = watching({ sources: [failing('acme')] });
  await clock.advance(5 * minute);
  clock.setBack(-480 * minute);
  await clock.advance(14 * minute);
  expect(raised).toEqual([]);
  await clock.advance(2 * minute);
  expect(raised).toContain('failing.acme');
});

test('alerts: a source whose pause has just ended is not reported as stale before its tick is due again', async () => {
  const { clock, raised, now } = watching({ sources: [overdue('acme', '2026-11-01T00:00:00.000Z')] });
  await clock.advance(20 * minute);
  now.status = { ...now.status, sources: [overdue('acme')] };
  await clock.advance(4 * minute);
  expect(raised).toEqual([]);
  await clock.advance(2 * minute);
  expect(raised).toContain('stale.acme');
});

test.each([
  ['a source', ['acme'], { source: 'acme', key: 'stale.acme' }],
  ['many sources', Array.from({ length: 30 }, (_, no) => `company-${no}`), { source: null, key: 'stale' }],
])('alerts: what is stale and was reported before a restart stays reported: %s', async (_, names, alert) => {
  const reported = { kind: 'stale', goneSince: null, ...alert } as OpenAlert;
  const sources = names.map((name) => overdue(name));
  const { clock, raised, resolved } = watching({ sources }, [reported]);
  await clock.advance(minute);
  expect([raised, resolved]).toEqual([[], []]);
});

test.each([
  ['a source', ['acme'], { source: 'acme', key: 'failing.acme' }],
  ['many sources', Array.from({ length: 30 }, (_, no) => `company-${no}`), { source: null, key: 'failing' }],
])(
  'alerts: what was reported as failing before a restart and still fails stays reported: %s',
  async (_, names, alert) => {
    const since = '2026-10-31T23:50:00.000Z' as Instant;
    const reported = { kind: 'failing', text: 'it fails', since, goneSince: null, ...alert } as OpenAlert;
    const sources = names.map((name) => failing(name));
    const { clock, raised, resolved, now } = watching({ sources }, [reported]);
    await clock.advance(20 * minute);
    expect([raised, resolved]).toEqual([[], []]);
    now.status = { ...now.status, sources: [] };
    await clock.advance(minute);
    expect(new Set(resolved)).toEqual(new Set([alert.key]));
  },
);

test.each(['backup', 'export', 'lake'])(
  'alerts: a %s that failed before a restart stays reported while it is being made again, and until it succeeds',
  async (key) => {
    const since = '2026-10-31T23:50:00.000Z' as Instant;
    const reported = { kind: `${key}_failed`, key: `${key}_failed`, source: null, since, goneSince: null };
    const register = new HealthRegister();
    const { clock, resolved } = watching({}, [{ ...reported, text: 'it failed' } as OpenAlert], {
      tried: () => register.tried,
    });
    let end = () => {};
    const made = register.during(key, () => new Promise<void>((resolve) => (end = resolve)));
    await clock.advance(20 * minute);
    expect(resolved).toEqual([]);
    end();
    await made;
    await clock.advance(minute);
    expect(new Set(resolved)).toEqual(new Set([`${key}_failed`]));
  },
);

test('alerts: failed checks of the webhook endpoint are reported after failingMinutes, and a restart ends no reported one', async () => {
  const endpoint = {
    state: 'blocked',
    code: 'unreachable',
    failingSince: null,
    message: 'no answer',
  } as never;
  const { clock, raised, now } = watching({ endpoint });
  await clock.advance(14 * minute);
  now.status = { ...now.status, endpoint: null };
  await clock.advance(minute);
  now.status = { ...now.status, endpoint };
  await clock.advance(14 * minute);
  expect(raised).toEqual([]);
  await clock.advance(2 * minute);
  expect(new Set(raised)).toEqual(new Set(['endpoint_disabled']));

  const since = '2026-01-01T00:00:00.000Z' as Instant;
  const reported = { key: 'endpoint_disabled', kind: 'endpoint_disabled', source: null, since } as const;
  const restarted = watching({ endpoint }, [{ ...reported, text: 'no answer', goneSince: null }]);
  await restarted.clock.advance(10 * minute);
  expect(restarted.resolved).toEqual([]);
  restarted.now.status = { ...restarted.now.status, endpoint: null };
  await restarted.clock.advance(minute);
  expect(restarted.resolved).toContain('endpoint_disabled');
});
