import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FilledMirror, filledMirror } from '../filled-mirror.js';

let world: FilledMirror;

beforeAll(async () => {
  world = await filledMirror(55);
});
afterAll(() => world.close());

const names = () => world.inFile((raw) => raw.prepare('SELECT count(*) FROM identities').pluck().get());
const status = async () => JSON.parse((await world.run(['status', '--json'])).out).sources[0];

const exportWithNames = async () => {
  const file = join(world.folder, 'names.csv');
  const { err } = await world.run(['export', '--identity', '--force', '--manifest', '--out', file]);
  const manifest = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
  return { err, incomplete: manifest.sources[0].names_incomplete };
};

test('when identity is granted again, names are listed once more automatically and reported as incomplete until then', async () => {
  await world.sync();
  const all = names();
  expect(all).toBeGreaterThan(20);

  const narrow = { env: { ACME: world.company.tokenWithoutIdentity } };
  expect((await world.run(['sync'], narrow)).code).toBe(0);
  expect(names()).toBe(0);
  expect((await world.run(['status'])).out).toContain(
    'acme: no names are stored: at the last check the token could not read identity, or its follow rule drops it',
  );

  const regained = await world.run(['sync']);
  const note = 'names are incomplete: re-listing begins by itself with one of the next ticks';
  expect(regained).toMatchObject({ code: 0, err: expect.stringContaining(`warning: acme: ${note}`) });
  expect(await status()).toMatchObject({ health: 'working', names_incomplete: 1, names_note: note });
  const seen = await world.run(['status', '--check']);
  expect(seen.code).toBe(1);
  expect(seen.out).toContain(`acme: ${note}`);
  expect(seen.out).not.toContain('the token could not read identity');
  const { checks } = JSON.parse((await world.run(['doctor', '--json'])).out);
  expect(checks).toContainEqual(
    expect.objectContaining({ name: 'health.acme', verdict: 'warn', message: note }),
  );

  expect(checks).toContainEqual(
    expect.objectContaining({ name: 'identity.acme', verdict: 'pass', message: 'names are granted' }),
  );
  const exported = await exportWithNames();
  expect(exported.err).toContain(
    'warning: acme: names are incomplete, until the re-listing that `rosterd status` reports has ended',
  );
  expect(exported.incomplete).toBe(true);

  const listed = await world.run(['sync']);
  expect(listed.code).toBe(0);
  expect(await exportWithNames()).toMatchObject({
    incomplete: false,
    err: expect.not.stringContaining('incomplete'),
  });
  expect(listed.err).not.toContain('warning');
  expect(listed.out).toMatch(/\nacme +done +relisting /);
  expect(names()).toBe(all);
  expect(await status()).toMatchObject({ health: 'ok', names_incomplete: 0, names_note: null });
  expect((await world.run(['sync'])).out, 'once').toMatch(/\nacme +done +delta /);
});

test('a re-listing for names that waits for the quota reports the end of the wait', async () => {
  await world.run(['sync'], { env: { ACME: world.company.tokenWithoutIdentity } });
  await world.run(['sync']);
  await world.control('POST', '/faults', [
    {
      method: 'GET',
      path: '/investments',
      times: 1,
      action: { status: 429, body: { error: { type: 'rate_limited', details: { retry_after: 3_000 } } } },
    },
  ]);
  expect((await world.run(['sync'])).code).toBe(5);
  expect(await status()).toMatchObject({
    state: 'relisting',
    names_note: expect.stringMatching(/^names are incomplete: re-listing waits for the quota until 20/),
  });
});
