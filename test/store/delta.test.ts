import { describe, expect } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { contentFields } from '../../src/domain/investment.js';
import type { Cents } from '../../src/domain/money.js';
import type { Cursor } from '../../src/domain/position.js';
import type { CommittedChange } from '../../src/store/committed-change.js';
import type { Rereading } from '../../src/store/reread.js';
import type { Mirror } from '../../src/sync/ports.js';
import { test } from './both-databases.js';
import { mirrorFixture } from './mirror-fixture.js';
import { acme, deltaPage, identity, investment, record, rejected, tombstone } from './samples.js';

const feed = 'SELECT id, kind, fields, reason FROM changes WHERE seq > 1 ORDER BY seq';
const later = '2026-02-02T00:00:00.000Z' as Instant;
const rereading = (mirror: Mirror) => mirror as Mirror & Rereading;

describe('a delta page', () => {
  test('a delta page adds, changes and removes rows, with history, change feed and cursor in one commit', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1'), record('inv_2')]]);
    const applied = await delta(
      [
        record('inv_3', { reason: 'created' }),
        record('inv_1', { status: 'canceled', reason: 'status_changed' }),
        tombstone('inv_2'),
      ],
      'c7',
    );
    expect(applied).toEqual({ added: 1, changed: 1, removed: 1, unchanged: 0, quarantined: 0 });
    expect(await rows(feed)).toEqual([
      { id: 'inv_3', kind: 'added', fields: '[]', reason: 'created' },
      { id: 'inv_1', kind: 'changed', fields: '["status"]', reason: 'status_changed' },
      { id: 'inv_2', kind: 'removed', fields: '[]', reason: 'withdrawn' },
    ]);
    expect(await rows('SELECT id, status, change_seq, ended_by FROM investment_history ORDER BY id')).toEqual(
      [
        { id: 'inv_1', status: 'approved', change_seq: 1, ended_by: 'update' },
        { id: 'inv_2', status: 'approved', change_seq: 1, ended_by: 'tombstone' },
      ],
    );
    expect(await rows('SELECT id FROM identities ORDER BY id')).toEqual([{ id: 'inv_1' }, { id: 'inv_3' }]);
    expect(await rows('SELECT state, cursor, rows_held, published_through FROM sources')).toEqual([
      { state: 'following', cursor: 'c7', rows_held: 2, published_through: '2026-02-28T00:00:00.000Z' },
    ]);
  });

  test('CLIENT-08 a tombstone deletes the copy; a canceled record stays', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1'), record('inv_2')]]);
    await delta([record('inv_1', { status: 'canceled' }), tombstone('inv_2')]);
    expect(await rows('SELECT id, status FROM investments')).toEqual([{ id: 'inv_1', status: 'canceled' }]);
  });

  test('a delta page that is read twice writes nothing the second time', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const items = [
      record('inv_1', { status: 'canceled', reason: 'x' }),
      record('inv_2'),
      tombstone('inv_9'),
      rejected('inv_8'),
    ];
    await delta(items);
    const everything = () =>
      Promise.all([
        rows('SELECT * FROM changes'),
        rows('SELECT * FROM history_rows'),
        rows('SELECT * FROM investment_rows'),
        rows('SELECT rows_held, quarantined FROM sources'),
        rows('SELECT count(*) AS n FROM quarantine'),
      ]);
    const before = await everything();
    expect(await delta(items)).toEqual({ added: 0, changed: 0, removed: 0, unchanged: 3, quarantined: 0 });
    expect(await everything()).toEqual(before);
  });

  test('of several entries for one id the last one wins, whatever their observed_at', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1'), record('inv_2')]]);
    await delta([
      record('inv_1', { status: 'a', observed_at: later }),
      record('inv_1', { status: 'b' }),
      tombstone('inv_2'),
      record('inv_2', { status: 'c' }),
      record('inv_3'),
      tombstone('inv_3'),
    ]);
    expect(await rows('SELECT id, status FROM investments ORDER BY id')).toEqual([
      { id: 'inv_1', status: 'b' },
      { id: 'inv_2', status: 'c' },
    ]);
    expect(await rows('SELECT kind FROM changes WHERE seq > 1')).toEqual([
      { kind: 'changed' },
      { kind: 'changed' },
    ]);
  });

  test('a later entry in the feed wins even if its observed_at is older', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1', { observed_at: later })]]);
    await delta([record('inv_1', { status: 'older', observed_at: '2020-01-01T00:00:00.000Z' as Instant })]);
    expect(await rows('SELECT status FROM investments')).toEqual([{ status: 'older' }]);
  });

  test('a record replaces the stored row completely, so that redacted fields of the person are gone', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1', { group_label: 'Seed' }, identity('Ann', { bio: 'secret' }))]]);
    await delta([record('inv_1', { group_label: null }, identity('Ann', { email: null }))]);
    expect(await rows('SELECT group_label FROM investments')).toEqual([{ group_label: null }]);
    expect(await rows('SELECT name, email, bio FROM identity_rows')).toEqual([
      { name: 'Ann', email: null, bio: null },
    ]);
    expect(await rows(feed)).toEqual([
      {
        id: 'inv_1',
        kind: 'changed',
        fields: '["group_label","identity.email","identity.bio"]',
        reason: null,
      },
    ]);
  });

  test('a change of any one field is stored and leaves the other fields unchanged', async () => {
    const other = (value: unknown) =>
      typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : '[7]';
    const { list, delta, rows } = await mirrorFixture();
    await list([contentFields.map((name) => record(name))]);
    const now = contentFields.map((name) => investment(name, { [name]: other(investment(name)[name]) }));
    await delta(now.map((content) => record(content.id, content)));
    const held = await rows(`SELECT id, ${contentFields.join(', ')} FROM investments`);
    const stored = (value: unknown) => (typeof value === 'boolean' ? Number(value) : value);
    const wanted = now.map((content) =>
      Object.fromEntries(['id' as const, ...contentFields].map((name) => [name, stored(content[name])])),
    );
    expect(held).toHaveLength(wanted.length);
    expect(held).toEqual(expect.arrayContaining(wanted));
  });

  test.each([
    ['name', identity('Ann', { name: 'Anna' }), '["identity.name"]'],
    ['unknown field', identity('Ann', { extra: '{"x":1}' }), '["identity.extra"]'],
    ['absence', null, '["identity.name","identity.email","identity.country"]'],
  ])(
    'a change of only the person’s %s is published by field name, never by value',
    async (_, person, fields) => {
      const { list, delta, rows } = await mirrorFixture();
      // If all records had identity, one without it would mean a lost grant, which is not a change of the investment.
      await list([[record('inv_1', {}, identity('Ann')), record('inv_2', {}, null)]]);
      expect(await delta([record('inv_1', {}, person)])).toMatchObject({ changed: 1 });
      expect(await rows('SELECT kind, fields FROM changes WHERE seq > 1')).toEqual([
        { kind: 'changed', fields },
      ]);
      expect(await rows('SELECT name, extra FROM identities')).toEqual(
        person === null ? [] : [{ name: person.name, extra: person.extra }],
      );
      expect(
        (await rows('SELECT * FROM history_rows')).flatMap((row) => Object.values(row as object)),
      ).not.toContain('Ann');
    },
  );

  test('a change of only an unknown field is published, and its old value goes to history', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1', { extra: '{"a":1}' })]]);
    await delta([record('inv_1', { extra: '{"a":2}' })]);
    expect(await rows('SELECT kind, fields FROM changes WHERE seq > 1')).toEqual([
      { kind: 'changed', fields: '["extra"]' },
    ]);
    expect(
      await rows('SELECT extra FROM investment_history UNION ALL SELECT extra FROM investments'),
    ).toEqual([{ extra: '{"a":1}' }, { extra: '{"a":2}' }]);
  });

  test('the same content with a newer observed_at adds a version to history but no change to the feed', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    expect(await delta([record('inv_1', { observed_at: later, reason: 'resent' })])).toMatchObject({
      changed: 0,
    });
    expect(await rows(feed)).toEqual([]);
    expect(await rows('SELECT observed_at, reason, change_seq FROM investments')).toEqual([
      { observed_at: later, reason: 'resent', change_seq: 1 },
    ]);
    expect(await rows('SELECT reason, ended_by FROM investment_history')).toEqual([
      { reason: null, ended_by: 'update' },
    ]);
    expect(await rows('SELECT * FROM identity_residue'), 'the person is not written again').toEqual([]);
  });

  test('a record that returns after its tombstone is added again, and history shows the gap', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    await delta([tombstone('inv_1')]);
    await delta([record('inv_1')]);
    expect(await rows('SELECT kind FROM changes WHERE seq > 1')).toEqual([
      { kind: 'removed' },
      { kind: 'added' },
    ]);
    const gap = await rows(
      'SELECT h.valid_to < i.valid_from AS gap FROM investment_history h JOIN investments i USING (source, id)',
    );
    expect(gap).toEqual([{ gap: 1 }]);
  });

  test('a delta page is rejected before the first listing is published', async () => {
    const { delta, mirror, lease, rows } = await mirrorFixture();
    await expect(delta([record('inv_1')])).rejects.toThrow('never listed');
    await expect(rereading(mirror).reread(lease, [record('inv_1')])).rejects.toThrow('never listed');
    expect(await rows('SELECT * FROM investment_rows')).toEqual([]);
  });

  test('records that are read again replace what differs and delete nothing, and the cursor stays', async () => {
    const { list, delta, mirror, lease, rows } = await mirrorFixture();
    await list([[record('inv_1'), record('inv_2'), record('inv_3')]]);
    await delta([rejected('inv_5', 'kept')], 'c7');
    const items = [
      record('inv_1', { status: 'canceled' }),
      record('inv_2', { observed_at: later }),
      tombstone('inv_3'),
      record('inv_4'),
      rejected('inv_5', 'other'),
      rejected('inv_6', 'new'),
    ];
    expect(await rereading(mirror).reread(lease, items)).toEqual({
      ...{ added: 1, changed: 1, removed: 0, unchanged: 1, quarantined: 1 },
    });
    expect(await rows(feed)).toMatchObject([
      { id: 'inv_1', kind: 'changed' },
      { id: 'inv_4', kind: 'added' },
    ]);
    expect(await rows('SELECT id FROM investments ORDER BY id')).toHaveLength(4);
    expect(await rows('SELECT id FROM identities ORDER BY id')).toHaveLength(4);
    expect(await rows('SELECT cursor, rows_held, quarantined FROM sources')).toEqual([
      { cursor: 'c7', rows_held: 4, quarantined: 2 },
    ]);
  });

  test('the last page of a sweep ends it; until then its own position is stored', async () => {
    const { list, mirror, lease } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const sweeping = { kind: 'sweeping', cursor: 's1' as Cursor } as const;
    await mirror.applyPage(lease, deltaPage([], 's1', true), sweeping);
    const { phase, lease: next } = await mirror.open(acme, 'tester');
    expect(phase).toMatchObject({
      kind: 'sweeping',
      since: { kind: 'cursor', cursor: 's1' },
      cursor: 'p1',
    });
    await mirror.applyPage(next, deltaPage([]), { kind: 'following', cursor: 'c9' as Cursor });
    expect((await mirror.open(acme, 'tester')).phase).toMatchObject({ kind: 'following', cursor: 'c9' });
    await expect(
      mirror.applyPage((await mirror.open(acme, 'tester')).lease, deltaPage([]), sweeping),
    ).rejects.toThrow('not sweeping');
  });

  test('a sweep that repeats a listed record, now with a reason, creates no new version', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1'), record('inv_2')]]);
    const listedRows = await rows('SELECT * FROM investments');
    expect(await delta([record('inv_1', { reason: 'changed' })])).toMatchObject({ changed: 0, unchanged: 1 });
    expect(await rows('SELECT * FROM investments')).toEqual(listedRows);
    expect(await rows('SELECT * FROM investment_history')).toEqual([]);
  });

  test('commit times never decrease within a source, and one commit has one time', async () => {
    const { list, delta, clock, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const before = await rows('SELECT max(at) AS at FROM changes');
    clock.millis -= 86_400_000;
    await delta([record('inv_1', { status: 'x' }), record('inv_2')]);
    expect(await rows('SELECT DISTINCT at FROM changes WHERE seq > 1')).toEqual(before);
  });
});

describe('anomalies of a page', () => {
  test('an unreadable entry is quarantined with its body until a readable version arrives', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    expect(await delta([rejected('inv_1'), rejected(null)])).toMatchObject({ quarantined: 2 });
    expect(await rows('SELECT status FROM investments')).toEqual([{ status: 'approved' }]);
    expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 2 }]);
    await delta([record('inv_1', { status: 'fine' })]);
    expect(
      await rows(
        'SELECT id, body, resolved_at IS NOT NULL AS resolved FROM quarantine ORDER BY quarantine_no DESC',
      ),
    ).toEqual([
      { id: 'inv_1', body: null, resolved: 1 },
      { id: null, body: '{"bad":true}', resolved: 0 },
    ]);
    expect(await rows('SELECT quarantined FROM sources')).toEqual([{ quarantined: 1 }]);
  });

  test('a repeated unreadable entry counts once, and again only after a readable version', async () => {
    const { list, delta } = await mirrorFixture();
    await list([[record('inv_1')]]);
    const counts: number[] = [];
    const bad = [rejected('inv_1'), rejected(null), rejected('inv_1')];
    for (const items of [bad, bad, [record('inv_1')], bad]) counts.push((await delta(items)).quarantined);
    expect(counts).toEqual([2, 0, 0, 1]);
  });

  test('within one page the last entry decides whether an id is quarantined', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    await delta([
      rejected('inv_1'),
      record('inv_1', { status: 'a' }),
      rejected('inv_2'),
      tombstone('inv_2'),
      record('inv_3'),
      rejected('inv_3'),
    ]);
    expect(await rows('SELECT id FROM quarantine WHERE resolved_at IS NULL')).toEqual([{ id: 'inv_3' }]);
    expect(await rows('SELECT id FROM investments ORDER BY id')).toEqual([{ id: 'inv_1' }, { id: 'inv_3' }]);
  });

  test('a huge unreadable body is truncated to 64 KB', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[]]);
    await delta([rejected('inv_1', '€'.repeat(60_000))]);
    const [row] = (await rows('SELECT octet_length(body) AS bytes FROM quarantine')) as {
      bytes: number;
    }[];
    expect(row?.bytes).toBeLessThanOrEqual(64 * 1024);
    expect(row?.bytes).toBeGreaterThan(64 * 1024 - 10);
  });

  test('unknown fields are counted by name', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1', { extra: '{"a":1,"b":2}' }, identity('Ann', { extra: '{"a":3}' }))]]);
    await delta([record('inv_2', { extra: '{"a":1}' })]);
    expect(await rows('SELECT source, field, times FROM drift ORDER BY field')).toEqual([
      { source: 'acme', field: 'a', times: 2 },
      { source: 'acme', field: 'b', times: 1 },
      { source: 'acme', field: 'investor.a', times: 1 },
    ]);
  });

  test('identity_included shows whether identity is granted; deactivated investors do not affect it', async () => {
    const { list, delta, rows } = await mirrorFixture();
    await list([[record('inv_1')]]);
    await delta([record('inv_1', { investor_deactivated: true }, null)]);
    expect(await rows('SELECT identity_included FROM sources')).toEqual([{ identity_included: 1 }]);
    await delta([record('inv_2', {}, null)]);
    expect(await rows('SELECT identity_included FROM sources')).toEqual([{ identity_included: 0 }]);
  });

  test('notices are drafted from ids and amounts and commit with their change', async () => {
    const seen: CommittedChange[] = [];
    const { list, delta, rows } = await mirrorFixture({
      notices: {
        draft: (changes) => {
          seen.push(...changes);
          return changes.map(({ seq, id }) => ({ id, seq, target: 'hook', body: id }));
        },
        fold: () => null,
      },
    });
    await list([[record('inv_1')]]);
    await delta([
      record('inv_1', { status: 'canceled', committed_cents: 5 as Cents, group_label: null }),
      tombstone('inv_9'),
    ]);
    expect(seen).toEqual([
      {
        kind: 'changed',
        seq: 2,
        source: 'acme',
        id: 'inv_1',
        fields: ['status', 'group_label', 'committed_cents'],
        reason: null,
        at: expect.any(String),
        statusBefore: 'approved',
        statusAfter: 'canceled',
        groupBefore: 'Seed',
        groupAfter: null,
        committedCentsBefore: 10_000,
        committedCentsAfter: 5,
        companyId: 'co_1',
        offeringId: 'ofr_1',
        currencyBefore: 'USD',
        currency: 'USD',
        convertedFrom: null,
        origin: 'feed',
      },
    ]);
    expect(await rows('SELECT source, seq, target, body, state FROM notices')).toEqual([
      { source: 'acme', seq: 2, target: 'hook', body: 'inv_1', state: 'pending' },
    ]);
  });
});
