import { expect, test } from 'vitest';
import { all } from '../../../src/platform/state/statements.js';
import { publishableKey } from '../../conformance/catalog.js';
import { startWorld } from '../../conformance/running-platform.js';

test('sandbox: the same seed produces the same catalog, another seed a different one', async () => {
  const shown = [];
  for (const seed of [5, 5, 6]) {
    const world = await startWorld({ seed });
    const { body } = await world.get('/explore?status=all', { token: publishableKey(world) });
    expect(body.data.length).toBeGreaterThan(8);
    shown.push(body.data);
    await world.close();
  }
  expect(shown[1]).toEqual(shown[0]);
  expect(shown[2]).not.toEqual(shown[0]);
});

test('sandbox: seeded feed numbers are unique and not beyond the head of the feed', async () => {
  const world = await startWorld();
  const rows = all<{ seq: number }>(world.services.state, 'SELECT seq FROM ledger ORDER BY seq');
  const [feed] = all<{ head: number }>(world.services.state, 'SELECT head FROM feed');
  expect(rows.at(-1)?.seq).toBeLessThanOrEqual(feed?.head ?? 0);
  expect(new Set(rows.map((row) => row.seq)).size).toBe(rows.length);
  await world.close();
});

test('sandbox: churn changes only companies with an installation', async () => {
  const world = await startWorld();
  const count = () =>
    all(
      world.services.state,
      `SELECT i.no FROM investments i WHERE NOT EXISTS (SELECT 1 FROM installations n WHERE n.company_no = i.company_no)`,
    ).length;
  const before = count();
  expect(before).toBeGreaterThan(20);
  await world.control('POST', '/churn', { changes: 60 });
  expect(count()).toBe(before);
  await world.close();
});
