import { expect } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { Cursor } from '../../src/domain/position.js';
import { decideNotices, foldNotices } from '../../src/outbox/decide-notices.js';
import type { NoticeHooks } from '../../src/store/committed-change.js';
import { test } from './both-databases.js';
import { mirrorFixture, placeOf, SteppingClock } from './mirror-fixture.js';
import { deltaPage, identity, record, tickReport, tombstone } from './samples.js';
import { statusOf } from './support/mirror.js';

const dayMillis = 86_400_000;
const start = Date.parse('2026-05-01T00:00:00.000Z');
const notices: NoticeHooks = {
  draft: (changes) => decideNotices(changes, [{ name: 'hook', rules: {} }]),
  fold: foldNotices,
};

/** A mirror that committed a change and recorded a tick while its clock was briefly forty days ahead. */
async function jumped() {
  const clock = new SteppingClock(start);
  const fixture = await mirrorFixture({ notices, clock });
  const { mirror, lease, list, delta } = fixture;
  const at = (millis: number) => {
    clock.millis = millis - clock.stepMs;
  };
  const tick = async () => {
    const report = tickReport({ startedAt: instantFromMillis(clock.millis) });
    await mirror.recordTick(lease, report, null);
  };
  await list([[record('inv_1', {}, identity('Ada')), record('inv_2')]]);
  at(start + 40 * dayMillis);
  await delta([record('inv_1', { status: 'active' }, identity('Ada'))]);
  await tick();
  at(start + 3_600_000);
  const status = (millis: number) =>
    statusOf(placeOf(fixture.store), { now: () => millis, monotonic: () => 0, wait: async () => {} });
  return { ...fixture, at, tick, status };
}

test('clock jump: a tick dated in the future makes the source unhealthy until the next successful tick', async () => {
  const { mirror, lease, tick, status, rows } = await jumped();
  const soon = start + 3_601_000;
  const [before] = (await status(soon)).sources;
  expect(before).toMatchObject({ health: 'failing', stale: true });
  expect(before?.concerns.map(({ code }) => code)).toEqual(['clock_ahead', 'versions_ahead']);
  expect(before?.concerns[0]?.text).toContain('2026-06-10');

  const page = { ...deltaPage([], 'c2'), publishedThrough: instantFromMillis(start + 3_600_000) };
  await mirror.applyPage(lease, page, { kind: 'following', cursor: 'c2' as Cursor });
  await tick();
  const [after] = (await status(soon + 10_000)).sources;
  expect(after).toMatchObject({ health: 'ok', stale: false, cursor_days_left: 89 });
  expect(after?.concerns.map(({ code }) => code)).toEqual(['versions_ahead']);
  const [source] = (await rows(
    'SELECT last_tick_at, last_success_at, cursor_saved_at, last_committed_at FROM sources',
  )) as Record<string, string>[];
  for (const column of ['last_tick_at', 'last_success_at', 'cursor_saved_at'])
    expect(source?.[column]?.slice(0, 10), column).toBe('2026-05-01');
  expect(source?.last_committed_at?.slice(0, 10)).toBe('2026-06-10');

  // A daemon that dies after the jump is reported overdue, not healthy for forty days.
  const [dead] = (await status(soon + 20 * 60_000)).sources;
  expect(dead).toMatchObject({ health: 'failing', stale: true });
  expect(dead?.concerns.map(({ code }) => code)).toContain('overdue');
});

test('clock jump: valid_from never decreases, and each moment still has one version', async () => {
  const { delta, rows } = await jumped();
  await delta([record('inv_1', { status: 'executed' }, identity('Ada'))], 'c2');
  await delta([record('inv_2', { status: 'executed' })], 'c3');
  const versions = (await rows(
    `SELECT id, valid_from, valid_to FROM investment_history
     UNION ALL SELECT id, valid_from, NULL FROM investments ORDER BY id, valid_from, valid_to`,
  )) as { id: string; valid_from: string; valid_to: string | null }[];
  for (const { valid_from, valid_to } of versions)
    if (valid_to !== null) expect(valid_from <= valid_to).toBe(true);
  expect(
    versions.filter(({ valid_to }) => valid_to === null).map(({ valid_from }) => valid_from.slice(0, 10)),
  ).toEqual(['2026-06-10', '2026-06-10']);
});

test('clock jump: notices and erasures queued after the correction are due immediately', async () => {
  const { delta, rows } = await jumped();
  await delta([record('inv_2', { status: 'active' }), tombstone('inv_1')], 'c2');
  const queued = (await rows('SELECT body, queued_at, next_at FROM notices ORDER BY notice')) as {
    body: string;
    queued_at: string;
    next_at: string;
  }[];
  const latest = queued.at(-1);
  expect(latest?.queued_at.slice(0, 10)).toBe('2026-05-01');
  const second = queued.find(({ body }) => body.includes('inv_2'));
  expect(second?.next_at.slice(0, 10)).toBe('2026-05-01');
  expect(await rows('SELECT substr(invisible_at, 1, 10) AS day FROM erasures')).toEqual([
    { day: '2026-05-01' },
  ]);
});
