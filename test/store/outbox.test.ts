import { describe, expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { Outbox } from '../../src/store/outbox.js';
import { databases } from './support/databases.js';
import { sourceRow } from './support/mirror.js';

const at = (minute: number) => `2026-10-20T12:${String(minute).padStart(2, '0')}:00.000Z` as Instant;

describe.each(databases)('notices in $database', ({ open }) => {
  async function fresh(notices: number) {
    const mirror = await open();
    await mirror.insert('sources', sourceRow(1));
    for (let seq = 1; seq <= notices; seq++)
      await mirror.insert('notice_rows', {
        source_no: 1,
        seq,
        target: 'slack',
        body: `{"seq":${seq}}`,
        queued_at: at(0),
        next_at: at(0),
      });
    const row = async (notice: number) =>
      (await mirror.rows(`SELECT * FROM notices WHERE notice = ${notice}`))[0];
    return { outbox: new Outbox(mirror.connection), row };
  }

  test('the outbox returns due notices in the order of their changes, up to the limit', async () => {
    const { outbox } = await fresh(3);
    expect(await outbox.dueFor('slack', at(1), 2)).toEqual([
      { notice: 1, source: 'source1', target: 'slack', body: '{"seq":1}', queuedAt: at(0), attempts: 0 },
      { notice: 2, source: 'source1', target: 'slack', body: '{"seq":2}', queuedAt: at(0), attempts: 0 },
    ]);
  });

  test('a delivered notice is settled, a postponed one waits for its time', async () => {
    const { outbox, row } = await fresh(2);
    expect(await outbox.begin(1)).toBe('{"seq":1}');
    await outbox.begin(2);
    await outbox.delivered(1, at(1));
    await outbox.retryLater(2, at(5), 'answered 503');
    expect(await row(1)).toMatchObject({ state: 'delivered', delivered_at: at(1), attempts: 1 });
    expect(await row(2)).toMatchObject({ state: 'pending', attempts: 1, last_error: 'answered 503' });
    expect(await outbox.dueFor('slack', at(4), 10)).toEqual([]);
    expect(await outbox.waiting()).toEqual([{ target: 'slack', dueAt: at(5) }]);
    expect(await outbox.dueFor('slack', at(5), 10)).toMatchObject([{ notice: 2 }]);
  });

  test('a notice postponed while the clock was ahead is due immediately; it blocks others only up to the maximum wait', async () => {
    const { outbox } = await fresh(2);
    await outbox.begin(1);
    await outbox.retryLater(1, '2026-11-29T12:00:00.000Z' as Instant, 'answered 503');
    expect(await outbox.dueFor('slack', at(4), 10)).toMatchObject([{ notice: 1 }, { notice: 2 }]);
    await outbox.retryLater(1, '2026-10-20T13:30:00.000Z' as Instant, 'answered 503');
    expect(await outbox.dueFor('slack', at(4), 10)).toEqual([]);
  });

  test('a notice that was given up stays visible and cannot be delivered any more', async () => {
    const { outbox, row } = await fresh(1);
    await outbox.giveUp(1, at(1), 'answered 410');
    await outbox.delivered(1, at(2));
    expect(await outbox.begin(1)).toBeNull();
    expect(await row(1)).toMatchObject({ state: 'given_up', last_error: 'answered 410', delivered_at: null });
    expect(await outbox.waiting()).toEqual([]);
  });

  test('purging deletes only old delivered notices', async () => {
    const { outbox } = await fresh(3);
    await outbox.delivered(1, at(1));
    await outbox.delivered(2, at(9));
    await outbox.giveUp(3, at(1), 'answered 410');
    expect(await outbox.purge(at(5))).toBe(1);
  });

  test('a notice that was attempted blocks those behind it until its time, and none before it', async () => {
    const { outbox } = await fresh(3);
    await outbox.begin(2);
    await outbox.retryLater(2, at(5), 'answered 503');
    expect(await outbox.dueFor('slack', at(1), 10)).toMatchObject([{ notice: 1 }]);
    await outbox.delivered(1, at(1));
    expect(await outbox.dueFor('slack', at(1), 10)).toEqual([]);
    expect(await outbox.waiting()).toEqual([{ target: 'slack', dueAt: at(5) }]);
    expect(await outbox.dueFor('slack', at(5), 10)).toMatchObject([{ notice: 2 }, { notice: 3 }]);
  });
});
