import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Io } from '../../src/cli/io.js';
import { systemClock } from '../../src/runtime/clock.js';
import { openRaw } from '../support/open-raw.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';
import { filledPostgres } from './filled-postgres.js';

let world: FilledMirror;

beforeAll(async () => {
  world = await filledMirror();
  await world.sync();
});

afterAll(() => world.close());

function open() {
  const raw = openRaw(join(world.folder, 'mirror.db'));
  onTestFinished(() => void raw.close());
  return raw;
}

test('sync --investment repairs one stored record and nothing else, and the source goes on following', async () => {
  const raw = open();
  const [id, committed] = raw
    .prepare<[], [string, number]>(
      'SELECT id, committed_cents FROM investments WHERE investor_id IS NOT NULL LIMIT 1',
    )
    .raw()
    .get() ?? ['', 0];
  raw.prepare('UPDATE investment_rows SET committed_cents = 1').run();
  await world.run(['sync']);
  const { code, out, err } = await world.run(['sync', '--investment', id, '--json']);
  expect([code, err]).toEqual([0, expect.not.stringContaining('error')]);
  expect(JSON.parse(out)).toMatchObject([
    { source: 'acme', outcome: 'done', records: 1, changed: 1, missing: 0 },
  ]);
  const right = raw.prepare('SELECT id FROM investments WHERE committed_cents <> 1').pluck().all();
  expect(right).toEqual([id]);
  expect(raw.prepare('SELECT committed_cents FROM investments WHERE id = ?').pluck().get(id)).toBe(committed);
  expect(raw.prepare('SELECT kind FROM changes WHERE id = ? ORDER BY seq DESC').pluck().get(id)).toBe(
    'changed',
  );
});

test('sync --investment lists the round of its record if that is unknown', async () => {
  const raw = open();
  const [id, round] = raw
    .prepare<[], [string, string]>(
      'SELECT id, offering_id FROM investments WHERE investor_id IS NOT NULL LIMIT 1',
    )
    .raw()
    .get() ?? ['', ''];
  const known = raw.prepare('SELECT count(*) FROM offering_rows WHERE id = ?').pluck();
  expect(known.get(round)).toBe(1);
  raw.prepare('DELETE FROM offering_rows WHERE id = ?').run(round);
  expect((await world.run(['sync', '--investment', id])).code).toBe(0);
  expect(known.get(round)).toBe(1);
});

test('sync --round repairs the records of a round, keeps what it does not list, and says so', async () => {
  const raw = open();
  const round = String(
    raw
      .prepare('SELECT offering_id FROM investments GROUP BY 1 ORDER BY count(*) DESC LIMIT 1')
      .pluck()
      .get(),
  );
  raw.prepare('UPDATE investment_rows SET committed_cents = 1').run();
  raw.exec(
    `UPDATE investment_rows SET id = 'inv_notlisted' WHERE row_no = (SELECT max(row_no) FROM investment_rows WHERE offering_id = '${round}')`,
  );
  const { code, out, err } = await world.run(['sync', '--round', round]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^acme +done/m)]);
  expect(err).toContain('acme: the platform does not list 1 stored investment. They are kept');
  const wrong = `SELECT count(*) FROM investments WHERE committed_cents = 1 AND offering_id = '${round}' AND id <> 'inv_notlisted'`;
  expect(raw.prepare(wrong).pluck().get()).toBe(0);
  expect(raw.prepare("SELECT count(*) FROM investments WHERE id = 'inv_notlisted'").pluck().get()).toBe(1);
  expect((await world.run(['sync', '--resync', '--accept-deletions'])).code).toBe(0);
  expect((await world.run(['verify', '--full'])).code).toBe(0);
});

test.each([
  [['--investment', 'ada@example.org'], /--investment is not an id\nTry: .*inv_/],
  [['--round', 'inv_1'], /--round is not an id\nTry: .*ofr_/],
  [['--round', 'ofr_1', '--resync'], /stand alone/],
  [['--round', 'ofr_1', '--investment', 'inv_1'], /stand alone/],
])('sync %j is refused', async (args, words) => {
  const { code, err } = await world.run(['sync', ...args]);
  expect([code, err]).toEqual([2, expect.stringMatching(words)]);
  expect(err).not.toContain('ada');
});

test('an investment that the platform does not list is not deleted, and the exit code is 1', async () => {
  const { code, err } = await world.run(['sync', '--investment', 'inv_0000000000000000000000']);
  expect([code, err]).toEqual([1, expect.stringContaining('is not listed by the platform')]);
});

test('sync --round with a refused token names the command that finds out which one', async () => {
  await world.control('POST', '/faults', [{ path: '/investments', times: 9, action: { status: 401 } }]);
  const { code, err } = await world.run(['sync', '--round', 'ofr_1']);
  await world.control('DELETE', '/faults');
  expect([code, err]).toEqual([3, expect.stringMatching(/acme: .*401.*\nTry: rosterd doctor/)]);
});

test('sync --wait waits for another process that reads the source, says so once, and does what was asked', async () => {
  const raw = open();
  const leased = raw.prepare("UPDATE leases SET holder = 'other:1:1', expires_at = ? RETURNING source_no");
  const until = (millis: number) => new Date(systemClock.now() + millis).toISOString();
  expect(leased.all(until(20_000))).toHaveLength(1);
  let waits = 0;
  const wait: Io['clock']['wait'] = async (millis, signal) => {
    if (waits === 2 || millis < 1_000 || millis > 60_000) return await systemClock.wait(millis, signal);
    waits += 1;
    leased.all(until(waits < 2 ? 20_000 : 0));
  };
  const { code, out, err } = await world.run(['sync', '--wait', '--resync'], {
    clock: { ...systemClock, wait },
  });
  expect([code, out]).toEqual([0, expect.stringMatching(/^acme +done +relisting/m)]);
  expect(err.match(/acme: another process reads it now; waits/g)).toHaveLength(1);
});

test('a paused source is not read', async () => {
  await world.run(['pause']);
  const { code, err } = await world.run(['sync', '--round', 'ofr_1']);
  expect([code, err]).toEqual([5, expect.stringContaining('acme: paused since')]);
  await world.run(['resume']);
});

test('sync --investment works on PostgreSQL alike', async () => {
  const postgres = await filledPostgres();
  onTestFinished(() => postgres.close());
  await postgres.run(['sync']);
  const [row] = await postgres.admin(
    'SELECT id, committed_cents FROM investments WHERE investor_id IS NOT NULL LIMIT 1',
  );
  await postgres.admin('UPDATE investment_rows SET committed_cents = 1');
  const { code, out } = await postgres.run(['sync', '--investment', String(row?.id), '--json']);
  expect([code, JSON.parse(out)]).toMatchObject([0, [{ records: 1, changed: 1 }]]);
  // The read after the tick proves nothing of the feed, so no webhook is worked by it.
  expect(
    await postgres.admin('SELECT "trigger", mode, outcome FROM ticks ORDER BY tick DESC LIMIT 2'),
  ).toEqual([
    { trigger: 'manual', mode: 'none', outcome: 'done' },
    { trigger: 'manual', mode: 'delta', outcome: 'done' },
  ]);
  expect(await postgres.admin(`SELECT committed_cents FROM investments WHERE id = '${row?.id}'`)).toEqual([
    { committed_cents: row?.committed_cents },
  ]);
});
