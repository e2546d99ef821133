import { describe, expect, test } from 'vitest';
import { isFault } from '../../../src/domain/fault.js';
import { runQuery } from '../../../src/store/reads/query.js';
import { VirtualClock } from '../../sync/support/virtual-clock.js';
import { databases } from '../support/databases.js';

const endless = `WITH RECURSIVE n(i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`;
const idle = new AbortController().signal;

describe.each(databases)('the time limit of a query in $database', ({ open }) => {
  /** Begins a query, and reads its second row a minute after its first. */
  async function paused(sql: string, countsReader?: boolean) {
    const { place } = await open();
    const clock = new VirtualClock();
    const limits = {
      timeoutMs: 30_000,
      rowsMax: null,
      ...(countsReader === undefined ? {} : { countsReader }),
    };
    const query = await runQuery(place, sql, limits, clock, idle);
    const rows = query.rows[Symbol.asyncIterator]();
    await rows.next();
    await clock.advance(60_000);
    const rest = (async () => {
      let read = 1;
      for (let row = await rows.next(); row.done !== true; row = await rows.next()) read += 1;
      return read;
    })();
    return { clock, rest };
  }

  const tooSlow = expect.toSatisfy(
    (error: unknown) => isFault(error, 'usage') && error.message.includes('longer than 30000 ms'),
  );

  test('the time limit of a query counts the time in which its reader waits', async () => {
    const { rest } = await paused(`${endless} LIMIT 2000`);
    await expect(rest).rejects.toEqual(tooSlow);
  });

  test('without the time of its reader, a query that was paused goes on to its end', async () => {
    const { rest } = await paused(`${endless} LIMIT 2000`, false);
    expect(await rest).toBe(2_000);
  });

  test('without the time of its reader, a query that finds no more rows is ended after its own time', async () => {
    const { clock, rest } = await paused(`${endless} WHERE i <= 500`, false);
    let over = false;
    const ended = expect(rest)
      .rejects.toEqual(tooSlow)
      .finally(() => {
        over = true;
      });
    while (!over) await clock.advance(1_000);
    await ended;
  });
});
