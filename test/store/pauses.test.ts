import { describe, expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { Pauses } from '../../src/store/pauses.js';
import { databases } from './support/databases.js';

describe.each(databases)('pauses in $database', ({ open }) => {
  test('more sources than a statement has values are paused and resumed, and the others left as they are', async () => {
    const { connection } = await open();
    const pauses = new Pauses(connection);
    // PostgreSQL takes 65,535 values in a statement, and a pause has two.
    const names = Array.from({ length: 33_000 }, (_, index) => `source${String(index).padStart(5, '0')}`);
    const [first, later] = ['2026-10-20T10:00:00.000Z', '2026-10-20T11:00:00.000Z'] as Instant[];
    await pauses.pause(['alone', 'source00007'], first as Instant);
    await pauses.pause(names, later as Instant);
    const paused = await pauses.list();
    expect(paused).toHaveLength(33_001);
    expect(paused.filter(({ paused_at }) => paused_at === first).map(({ source }) => source)).toEqual([
      'alone',
      'source00007',
    ]);
    expect(await pauses.resume([...names, 'nobody'])).toEqual(names);
    expect(await pauses.list()).toEqual([{ source: 'alone', paused_at: first }]);
    expect(await pauses.resume(names)).toEqual([]);
    expect(await pauses.resume(null)).toEqual(['alone']);
  });
});
