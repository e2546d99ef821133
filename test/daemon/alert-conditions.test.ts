import { expect, test } from 'vitest';
import { conditionsOf, failingSince } from '../../src/daemon/alert-conditions.js';
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
  const seen = new Map([['acme', now - seenMinutesAgo * 60_000]]);
  const facts = { status, freeBytes, failingSince: failingSince(status, seen, now) };
  return conditionsOf(facts, settings, now).map(({ kind, source: of }) => `${kind} ${of ?? ''}`.trim());
};

const overdue = [{ code: 'overdue', text: 'its next tick is overdue' }] as SourceStatus['concerns'];

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
  const endpoint = { state, message: 'answered 429' };
  const status = { sources: [], endpoint, backup: null, exports: null, lake: null, problems: [] } as never;
  expect(conditionsOf({ status, freeBytes: null, failingSince: new Map() }, settings, now)).toMatchObject([
    { text },
  ]);
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
