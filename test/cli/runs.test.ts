import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;

beforeAll(async () => {
  world = await filledMirror();
  await world.sync();
  await world.control('POST', '/investments', { company: world.company.id, count: 5 });
  await world.sync();
  await world.control('POST', '/faults', [
    { method: 'GET', path: '/investments', times: 20, action: { status: 503 } },
  ]);
  await world.run(['sync']);
  await world.control('DELETE', '/faults');
});

afterAll(() => world.close());

test('runs lists the last ticks, newest first, with what they changed and why one failed', async () => {
  const { code, out, err } = await world.run(['runs']);
  expect([code, err]).toEqual([0, '']);
  const [head, failed, why, delta, first] = out.split('\n');
  expect(head).toMatch(/^BEGAN \(UTC\) +SOURCE +RUN +PAGES +CHANGES +TOOK +OUTCOME$/);
  expect(failed).toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +acme +manual.* failed: platform_error$/);
  expect(why).toMatch(/^ {4}\S/);
  expect(delta).toMatch(/ acme +manual delta +1 +\+5 +\d+ ms +done$/);
  expect(first).toMatch(/ acme +manual listing +\d+ +\+\d+ +\d+ ms +done$/);
});

test('runs fits a terminal of 80 columns without breaking a time', async () => {
  const { out } = await world.run(['runs', '--limit', '2'], {
    tty: true,
    columns: 80,
    env: { NO_COLOR: '1' },
  });
  expect(out).toMatch(/20\d\d-\d\d-\d\d \d\d:\d\d:\d\d/);
});

test('runs --json prints every column, and --limit and --source narrow it', async () => {
  const { out } = await world.run(['runs', '--json', '--limit', '1', '--source', 'acme']);
  expect(JSON.parse(out)).toEqual([
    expect.objectContaining({ source: 'acme', outcome: 'failed', code: 'platform_error', mode: 'delta' }),
  ]);
});

test.each([
  [['--limit', '0'], /--limit is "0"/],
  [['--source', 'nobody'], /no tick of a source called "nobody"\nTry: rosterd status/],
])('runs %j is refused', async (args, words) => {
  const { code, err } = await world.run(['runs', ...args]);
  expect([code, err]).toEqual([2, expect.stringMatching(words)]);
});
