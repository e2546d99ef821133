import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Io } from '../../src/cli/io.js';
import { systemClock } from '../../src/runtime/clock.js';
import { rosterd } from './fake-io.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

/* A first listing of eleven pages or more, with four requests an hour for listings. */

let world: FilledMirror;
beforeEach(async () => {
  world = await filledMirror(110);
  onTestFinished(() => world.close());
  const file = join(world.folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8'));
  config.platform.requestsPerHour = 24;
  config.sync = { perPage: 10, brake: { share: 0, rows: 1 } };
  writeFileSync(file, JSON.stringify(config));
  // Twenty minutes into an hour, so that the quota is used up long before the hour ends.
  const hour = 3_600_000;
  ahead = hour - (systemClock.now() % hour) + hour / 3;
  await advance(ahead);
});

const advance = (millis: number) =>
  world.control('POST', '/clock', { advanceSeconds: Math.ceil(millis / 1000) });

/** Longer than a request may take. */
const longMillis = 90_000;
let ahead: number;

/** A clock on which waits for the quota take no time, here and on the platform. `during` is called in each. */
function skipping(during: (waits: number) => Promise<void> | void = () => {}): Io['clock'] {
  let waits = 0;
  return {
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
    wait: async (millis, signal) => {
      if (millis < longMillis || millis === Number.POSITIVE_INFINITY)
        return await systemClock.wait(millis, signal);
      waits += 1;
      await during(waits);
      if (signal?.aborted === true) return;
      await advance(millis);
      ahead += millis;
    },
  };
}

const stored = () =>
  world.inFile((raw) =>
    raw.prepare('SELECT state, rows_held, rows_incoming, pages_incoming FROM sources').get(),
  ) as Readonly<Record<string, number | string>>;

async function listings(): Promise<readonly string[]> {
  const { requests } = (await world.control('GET', '/requests')) as {
    requests: readonly { readonly path: string; readonly query: Readonly<Record<string, string>> }[];
  };
  return requests
    .filter(
      ({ path, query }) => path === '/investments' && query.per_page === '10' && !('updated_since' in query),
    )
    .map(({ query }) => query.cursor ?? 'first');
}

test('sync --wait waits for each hour of a first listing, says so once for each, and ends with every record', async () => {
  const seen: unknown[] = [];
  const clock = skipping(async (waits) => {
    if (waits > 2) return;
    const { out } = await world.run(['status', '--json'], { clock });
    const [{ listing, readable }] = JSON.parse(out).sources;
    seen.push([
      readable,
      listing.rows,
      listing.requests_left,
      Date.parse(listing.continues_at) > clock.now(),
    ]);
  });
  const { code, out, err } = await world.run(['sync', '--wait'], { clock });
  expect([code, out]).toEqual([0, expect.stringMatching(/^acme +done +listing +1[2-9] /m)]);
  expect(
    err.match(/acme: the request quota is used up; waits until \S+Z \(in .*\) and goes on/g),
  ).toHaveLength(2);
  expect(err).not.toContain('error');
  expect(seen).toEqual([
    [0, 40, 0, true],
    [0, 80, 0, true],
  ]);
  expect(stored()).toMatchObject({ state: 'following', rows_incoming: 0 });
  expect((await listings()).filter((cursor) => cursor === 'first')).toHaveLength(1);
});

test('sync without --wait ends when the quota is used up, and says how far it is in words and in JSON', async () => {
  const { code, out, err } = await world.run(['sync', '--json'], { clock: skipping() });
  expect(code).toBe(5);
  const [{ listing, retryAt, outcome }] = JSON.parse(out);
  expect([outcome, listing]).toEqual([
    'waiting',
    {
      ...{ rows: 40, rows_expected: null, requests_left: 0, seconds_left: null, seconds_waiting: null },
      ...{ continues_at: expect.stringMatching(/Z$/), text: expect.any(String) },
    },
  ]);
  expect(Math.abs(Date.parse(listing.continues_at) - Date.parse(retryAt))).toBeLessThan(5_000);
  expect(err).toContain(`acme: ${listing.text}`);
  expect(listing.text).toMatch(/^40 records so far; how many more is not known; continues at \d\d:\d\d UTC/);
  expect(err).toContain('To wait for the quota and go on: rosterd sync --wait');
  const shown = await world.run(['sources', 'show', 'acme'], { clock: skipping() });
  expect(shown.out).toContain(`\nlisting         ${listing.text}\n`);
});

test('sync --wait ends with 5 at Ctrl-C while it waits, keeps its pages, and the next one goes on behind them', async () => {
  const io = world.io({ clock: skipping(() => void io.signals.emit('SIGINT')) });

  const { code, err } = await rosterd(['sync', '--wait'], io);
  expect([code, err]).toEqual([
    5,
    expect.stringContaining('The fetched pages are kept. Try: rosterd sync after'),
  ]);
  expect(stored()).toMatchObject({ state: 'listing', rows_incoming: 40, pages_incoming: 4 });
  expect((await world.run(['sync', '--wait'], { clock: skipping() })).code).toBe(0);
  const asked = await listings();
  expect(asked.filter((cursor) => cursor === 'first')).toHaveLength(1);
  expect(new Set(asked).size).toBe(asked.length);
});

test('sync --wait does not go on with a source that was paused while it waited', async () => {
  const clock = skipping(async () => {
    await world.run(['pause']);
  });
  const { code, err, out } = await world.run(['sync', '--wait'], { clock });
  expect([code, err]).toEqual([5, expect.stringContaining('acme: paused since')]);
  expect(out).toMatch(/^acme +stopped +listing +4 /m);
  expect(stored()).toMatchObject({ state: 'listing', pages_incoming: 4 });
});

test('sync --wait leaves it to the tick after a wait to report a database that cannot be read', async () => {
  const renamed = ['ALTER TABLE pauses RENAME TO away', 'ALTER TABLE away RENAME TO pauses'];
  const clock = skipping((waits) => void world.inFile((raw) => raw.exec(renamed[waits - 1] ?? '')));
  expect((await world.run(['sync', '--wait'], { clock })).code).toBe(0);
});

test('sync --wait ends when the positions of a listing expire, and knows that it begins again', async () => {
  const action = { status: 410, body: { error: { type: 'gone', message: 'Too old.' } } };
  await world.control('POST', '/faults', [{ path: '/investments', after: 2, times: 1, action }]);
  const { code, out } = await world.run(['sync', '--wait', '--json'], { clock: skipping() });
  const [{ outcome, listing, pages }] = JSON.parse(out);
  expect([code, outcome, pages, listing.text]).toEqual([
    ...[5, 'waiting', 2],
    '0 records so far; how many more is not known',
  ]);
});

test('sync --resync --accept-deletions --wait deletes what the listing lacks, however many hours it takes', async () => {
  await world.run(['sync', '--wait'], { clock: skipping() });
  world.inFile((raw) =>
    raw.exec(
      "UPDATE investment_rows SET id = 'inv_notlisted' WHERE row_no = (SELECT min(row_no) FROM investment_rows)",
    ),
  );
  const { code, err } = await world.run(['sync', '--resync', '--accept-deletions', '--wait'], {
    clock: skipping(),
  });
  expect([code, err]).toEqual([0, expect.stringContaining('waits until')]);
  const left = world.inFile((raw) =>
    raw
      .prepare(
        "SELECT (SELECT count(*) FROM awaiting_deletion), count(*) FROM investments WHERE id = 'inv_notlisted'",
      )
      .raw()
      .get(),
  );
  expect(left).toEqual([0, 0]);
});
