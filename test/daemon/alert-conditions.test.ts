import { expect, test } from 'vitest';
import {
  conditionsOf,
  failingSince,
  uncheckedBefore,
  uncheckedSince,
} from '../../src/daemon/alert-conditions.js';
import type { FullStatus, SourceStatus } from '../../src/reading/status.js';

const now = Date.parse('2026-11-01T12:00:00.000Z');
const at = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
const settings = { failingMinutes: 15, diskFreeMegabytes: 1_024 };

const healthy = {
  source: 'acme',
  state: 'following',
  meaning: 'following the feed',
  paused_at: null,
  awaiting_deletion: 0,
  quarantine_open: 0,
  concerns: [],
  last_outcome: 'done',
  last_success_at: at(-1),
  last_error: null,
  last_error_code: null,
  retry_at: null,
} as unknown as SourceStatus;

const kinds = (
  source: Partial<SourceStatus>,
  more: Partial<FullStatus> = {},
  freeBytes: number | null = null,
  seenMinutesAgo = 0,
) => {
  const status = {
    sources: [{ ...healthy, ...source }],
    endpoint: null,
    backup: null,
    exports: null,
    lake: null,
    problems: [],
    ...more,
  } as unknown as FullStatus;
  const seen = now - seenMinutesAgo * 60_000;
  const facts = {
    status,
    freeBytes,
    failingSince: failingSince(status, new Map([['acme', seen]]), now),
    uncheckedSince: uncheckedSince(status, seen, now),
  };
  return conditionsOf(facts, settings, now).map(({ kind, source: of }) => `${kind} ${of ?? ''}`.trim());
};

const overdue = [{ code: 'overdue', text: 'its next tick is overdue' }] as SourceStatus['concerns'];

const unchecked = (code: string, failing: string | null = null) =>
  ({ state: 'blocked', code, message: null, failingSince: failing }) as never;

test.each<[string, Parameters<typeof kinds>, readonly string[]]>([
  ['a healthy source', [{}], []],
  [
    'a halted source',
    [{ state: 'halted', last_outcome: 'failed', last_success_at: at(-99) }, {}, null, 98],
    ['halted acme'],
  ],
  ['rows that await deletion', [{ awaiting_deletion: 60 }], ['held acme']],
  ['records in quarantine', [{ quarantine_open: 1 }], ['quarantine acme']],
  ['an overdue source', [{ concerns: overdue }], ['stale acme']],
  ['an overdue source that is paused', [{ concerns: overdue, paused_at: at(-9) }], []],
  [
    'a source that fails for 14 minutes',
    [{ last_outcome: 'failed', last_success_at: at(-20) }, {}, null, 14],
    [],
  ],
  [
    'a source that fails for 15 minutes',
    [{ last_outcome: 'failed', last_success_at: at(-20) }, {}, null, 15],
    ['failing acme'],
  ],
  [
    'a source that failed before, and whose last success was 14 minutes ago',
    [{ last_outcome: 'failed', last_success_at: at(-14) }, {}, null, 20],
    [],
  ],
  [
    'a source whose last tick failed, and that has been paused since',
    [{ last_outcome: 'failed', last_success_at: at(-99), paused_at: at(-90) }, {}, null, 98],
    [],
  ],
  [
    'a quota that is used up for half an hour',
    [{ last_outcome: 'waiting', last_error_code: 'rate_limited', retry_at: at(30) }],
    ['quota_exhausted acme'],
  ],
  [
    'a quota that is used up for a minute',
    [{ last_outcome: 'waiting', last_error_code: 'rate_limited', retry_at: at(1) }],
    [],
  ],
  [
    'an endpoint that fails',
    [{}, { endpoint: { state: 'failing', message: null } as never }],
    ['endpoint_disabled'],
  ],
  [
    'an endpoint that could not be checked for 14 minutes',
    [{}, { endpoint: unchecked('unreachable') }, null, 14],
    [],
  ],
  [
    'an endpoint that could not be checked for 15 minutes',
    [{}, { endpoint: unchecked('rate_limited') }, null, 15],
    ['endpoint_disabled'],
  ],
  [
    'an endpoint that only a person can make checkable',
    [{}, { endpoint: unchecked('forbidden') }],
    ['endpoint_disabled'],
  ],
  [
    'an endpoint whose deliveries failed when it could last be checked',
    [{}, { endpoint: unchecked('platform_error', at(-60)) }],
    ['endpoint_disabled'],
  ],
  ['an endpoint that works', [{}, { endpoint: { state: 'ok', message: null } as never }], []],
  [
    'a failed backup',
    [{}, { problems: [{ key: 'backup', severity: 'attention', text: 'it failed', since: at(0) }] as never }],
    ['backup_failed'],
  ],
  [
    'an overdue backup',
    [{}, { backup: { overdue: true, newest_at: at(-9_000) } as never }],
    ['backup_failed'],
  ],
  [
    'two failing after-sync hooks',
    [
      {},
      {
        problems: ['dbt', 'jobs'].map((hook) => ({
          key: `after_sync.${hook}`,
          severity: 'attention',
          text: 'it failed',
          since: at(0),
        })) as never,
      },
    ],
    ['hook_failed'],
  ],
  [
    'a failed export and a failed sync of the lake',
    [
      {},
      {
        problems: ['export', 'lake'].map((key) => ({
          key,
          severity: 'attention',
          text: 'it failed',
          since: at(0),
        })) as never,
      },
    ],
    ['export_failed', 'lake_failed'],
  ],
  [
    'an overdue export and an overdue lake',
    [
      {},
      {
        exports: { overdue: true, newest_at: at(-9_000) } as never,
        lake: { overdue: true, synced_at: at(-9_000) } as never,
      },
    ],
    ['export_failed', 'lake_failed'],
  ],
  [
    'an export and a lake that are on time',
    [{}, { exports: { overdue: false } as never, lake: { overdue: false } as never }],
    [],
  ],
  ['a disk with 1,023 MB free', [{}, {}, 1_023 * 1_048_576], ['disk_low']],
  ['a disk with 1,024 MB free', [{}, {}, 1_024 * 1_048_576], []],
])('alert conditions: %s', (_, facts, expected) => {
  expect(kinds(...facts)).toEqual(expected);
});

test.each([
  ['failing', 'the webhook endpoint does not work (failing): answered 429'],
  ['blocked', 'the webhook endpoint cannot be checked: answered 429'],
])('alert conditions: the alert of an endpoint whose state is %s says whether it works', (state, text) => {
  const endpoint = { state, message: 'answered 429', code: 'refused', failingSince: null };
  const status = { sources: [], endpoint, backup: null, exports: null, lake: null, problems: [] } as never;
  expect(
    conditionsOf({ status, freeBytes: null, failingSince: new Map(), uncheckedSince: now }, settings, now),
  ).toMatchObject([{ text }]);
});

test('alert conditions: time before the daemon started and time in a pause do not count as failing', () => {
  const source = { ...healthy, last_outcome: 'failed', last_success_at: at(-9_000) } as SourceStatus;
  const seen = (paused_at: string | null, before: ReadonlyMap<string, number>, minutes: number) =>
    failingSince({ sources: [{ ...source, paused_at }] }, before, now + minutes * 60_000);
  const started = seen(null, new Map(), 0);
  expect([...started]).toEqual([['acme', now]]);
  expect([...seen(null, started, 10)]).toEqual([['acme', now]]);
  const paused = seen(at(10), started, 11);
  expect([...paused]).toEqual([]);
  expect([...seen(null, paused, 500)]).toEqual([['acme', now + 500 * 60_000]]);
});

test('alert conditions: a source that never succeeded fails since it was first seen failing', () => {
  const status = { sources: [{ ...healthy, last_outcome: 'failed', last_success_at: null }] } as never;
  const first = failingSince(status, new Map(), now);
  expect(failingSince(status, first, now + 60_000).get('acme')).toBe(now);
});

test('alert conditions: an endpoint is unchecked since its first failed check that was seen, or since before a reported one', () => {
  const blocked = { endpoint: { state: 'blocked' } } as never;
  expect(uncheckedSince({ endpoint: null }, now, now)).toBeNull();
  expect(uncheckedSince({ endpoint: { state: 'ok' } as never }, now, now)).toBeNull();
  expect(uncheckedSince(blocked, null, now)).toBe(now);
  expect(uncheckedSince(blocked, now - 1, now)).toBe(now - 1);
  expect(uncheckedSince(blocked, now + 1, now)).toBe(now);
  const open = (kind: string, minutes: number) => [{ kind, since: at(minutes) }] as never;
  expect(uncheckedBefore(open('stale', -1), 15, now)).toBeNull();
  expect(uncheckedBefore(open('endpoint_disabled', -1), 15, now)).toBe(now - 16 * 60_000);
  expect(uncheckedBefore(open('endpoint_disabled', 9), 15, now)).toBe(now - 15 * 60_000);
});
