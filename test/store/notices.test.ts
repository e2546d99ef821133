import { expect } from 'vitest';
import type { Cents } from '../../src/domain/money.js';
import { decideNotices, foldNotices } from '../../src/outbox/decide-notices.js';
import type { NoticeHooks } from '../../src/store/committed-change.js';
import { test } from './both-databases.js';
import { cautious, mirrorFixture, SteppingClock } from './mirror-fixture.js';
import { identity, record, tombstone } from './samples.js';

const receivers = [{ name: 'hook', rules: {} }];
const notices: NoticeHooks = {
  draft: (changes) => decideNotices(changes, receivers),
  fold: foldNotices,
};

async function noticeMirror() {
  const clock = new SteppingClock();
  const fixture = await mirrorFixture({ notices, clock });
  const texts = async () =>
    ((await fixture.rows('SELECT body FROM notices ORDER BY notice')) as { body: string }[]).map(
      ({ body }) => JSON.parse(body).text as string,
    );
  return { ...fixture, clock, texts };
}

test('a first listing queues no notices; a re-listing of 2,000 records queues the five real differences', async () => {
  const { list, rows, texts } = await noticeMirror();
  const ids = Array.from({ length: 2_000 }, (_, n) => `inv_${n}`);
  const pages = (from: readonly string[], more: Record<string, object> = {}) =>
    Array.from({ length: 20 }, (_, page) =>
      from.slice(page * 100, page * 100 + 100).map((id) => record(id, { reason: 'recomputed', ...more[id] })),
    );
  await list(pages(ids));
  expect(await rows('SELECT * FROM notices')).toEqual([]);
  const later = [...ids.filter((id) => id !== 'inv_7'), 'inv_new'];
  const changed = {
    inv_1: { status: 'executed' },
    inv_2: { group_label: 'CONFIRMED' },
    inv_3: { committed_cents: 1 as Cents },
    // These changes queue no notices.
    inv_4: { shares: '11' },
    inv_5: { blockers: '[{"key":"needs_id"}]' },
  };
  await list(pages(later, changed), 'relist', { ...cautious, accepted: true });
  expect((await texts()).sort()).toEqual([
    'acme: investment inv_1: status approved → executed',
    'acme: investment inv_2: group Seed → CONFIRMED',
    'acme: investment inv_3: commitment 100.00 USD → 0.01 USD',
    'acme: investment inv_7 is gone, was 100.00 USD, approved, Seed',
    'acme: new investment inv_new, 100.00 USD, approved, Seed',
  ]);
  expect(await rows('SELECT count(*) AS n FROM changes WHERE seq > 1')).toEqual([{ n: 7 }]);
});

test('a record has at most one notice a minute: an earlier one waits, and further changes are folded into it', async () => {
  const { list, delta, rows, clock, texts } = await noticeMirror();
  await list([[record('inv_1'), record('inv_2')]]);
  const at = (seconds: number) => {
    clock.millis = Date.parse('2026-06-01T00:00:00.000Z') + seconds * 1000 - clock.stepMs;
  };
  at(0);
  await delta([record('inv_1', { status: 'active' })]);
  at(10);
  await delta([record('inv_1', { status: 'executed' }), record('inv_2', { status: 'active' })]);
  at(20);
  await delta([record('inv_1', { status: 'canceled' })]);
  expect(await texts()).toEqual([
    'acme: investment inv_1: status approved → active',
    'acme: investment inv_1: status active → canceled',
    'acme: investment inv_2: status approved → active',
  ]);
  expect(await rows('SELECT seq, next_at FROM notices ORDER BY notice')).toEqual([
    { seq: 2, next_at: '2026-06-01T00:00:00.000Z' },
    { seq: 5, next_at: '2026-06-01T00:01:00.000Z' },
    { seq: 4, next_at: '2026-06-01T00:00:10.000Z' },
  ]);
  // The status is back to that of the first notice, so the waiting notice is deleted.
  at(30);
  await delta([record('inv_1', { status: 'active' })]);
  expect(await texts()).toHaveLength(2);
  at(121);
  await delta([tombstone('inv_1')]);
  expect((await texts())[2]).toBe('acme: investment inv_1 is gone, was 100.00 USD, active, Seed');
});

test('a notice never contains a name', async () => {
  const { list, delta, rows } = await noticeMirror();
  await list([[record('inv_1', {}, identity('CANARY', { bio: 'CANARY', message: 'CANARY' }))]]);
  await delta([
    record('inv_1', { status: 'executed' }, identity('CANARY2')),
    record('inv_2', {}, identity('CANARY')),
  ]);
  await delta([tombstone('inv_1')]);
  expect(await rows('SELECT count(*) AS n FROM notices')).not.toEqual([{ n: 0 }]);
  expect(JSON.stringify(await rows('SELECT * FROM notices'))).not.toContain('CANARY');
});
