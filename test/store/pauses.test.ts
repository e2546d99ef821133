import { describe, expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { type OperatorRequest, OperatorRequests } from '../../src/store/operator-requests.js';
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

describe.each(databases)('requests of operators in $database', ({ open }) => {
  test('a request that waits stays as it is, except that a newer confirmation of deletions replaces an older one', async () => {
    const requests = new OperatorRequests((await open()).connection);
    const [first, later] = ['2026-10-20T10:00:00.000Z', '2026-10-20T11:00:00.000Z'] as [Instant, Instant];
    const asked = { source: 'acme', actor: 'ann', role: 'operator', confirmed_rows: null } as const;
    const resync: OperatorRequest = { ...asked, kind: 'resync', asked_at: first };
    const older: OperatorRequest = { ...asked, kind: 'accept_deletions', asked_at: first, confirmed_rows: 3 };
    const newer: OperatorRequest = { ...older, actor: 'bob', asked_at: later, confirmed_rows: 5 };
    for (const request of [resync, older, { ...resync, actor: 'bob', asked_at: later }, newer])
      await requests.add(request);
    expect(await requests.list()).toEqual([resync, newer]);
    // What was performed is the request as it was read before.
    for (const performed of [older, { ...newer, confirmed_rows: 3 }, { ...resync, asked_at: later }])
      await requests.remove(performed);
    expect(await requests.list()).toEqual([resync, newer]);
    for (const performed of [newer, resync]) await requests.remove(performed);
    expect(await requests.list()).toEqual([]);
  });
});
