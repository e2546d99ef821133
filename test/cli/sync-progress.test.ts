import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
beforeAll(async () => {
  world = await filledMirror(300);
});
afterAll(() => world.close());

test('sync on a terminal shows rows and speed, and how much of a re-listing is done', async () => {
  const first = await world.run(['sync'], { tty: true });
  expect(first.err).toMatch(/sync {2}\d+ rows, \d pages/);
  expect(first.err).not.toContain('%');

  const again = await world.run(['sync', '--resync'], { tty: true });
  expect(again.err).toMatch(/sync {2}\[#{20}\] 100 % {2}\d+ rows, \d pages/);
});

test('sync ends when the quota is spent, and says after what time to go on', async () => {
  const details = { retry_after: 1_800 };
  const body = { error: { type: 'rate_limited', message: 'Slow down.', details } };
  const action = { status: 429, body };
  await world.control('POST', '/faults', [{ method: 'GET', path: '/investments', times: 1, action }]);
  const { code, err } = await world.run(['sync', '--resync']);
  expect(code).toBe(5);
  expect(err).toMatch(/pages are kept\. Try: rosterd sync after \S+Z \(in \d+ min \d+ s\)$/m);
  expect(err).toMatch(/acme: 0 of about \d+ records; time left not known; continues at \d\d:\d\d UTC/);
});

test('sync shows how many records a long first listing has, as the platform counts them', async () => {
  const large = await filledMirror(900);
  onTestFinished(() => large.close());
  const env = { ACME: large.company.token, ROSTERD_SYNC__PER_PAGE: '4' };
  const { code, err } = await large.run(['sync'], { tty: true, columns: 200, env });
  expect(code).toBe(0);
  const rows = large.inFile((raw) => raw.prepare('SELECT count(*) FROM investments').pluck().get());
  expect(err).toMatch(
    new RegExp(`\\[#+\\.+\\] \\d+ % {2}\\d+ of about ${rows} records, some \\d+ (?:s|min) left`),
  );
  expect(err).toMatch(new RegExp(`100 % {2}${rows} rows, \\d+ pages`));
});
