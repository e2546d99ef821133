import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../store/temp-folder.js';
import { built } from '../torture/life.js';
import { mayHold, playDay } from './scenario.js';
import { sweep } from './sweep.js';

test('a day at debug level leaves no identity and no secret in any byte outside the places where they belong', async () => {
  const folder = tempFolder();
  const { canaries, said } = await playDay(folder, built);
  expect(sweep(folder, canaries, mayHold)).toEqual([]);
  expect(said.length).toBeGreaterThan(50);
  // The check works: values that belong in the database are found there.
  const anywhere = sweep(folder, canaries, () => false);
  expect(anywhere).toContainEqual({ file: 'mirror.db', what: 'identity: email' });
  expect(anywhere).toContainEqual({ file: 'credentials.json', what: 'credentials: refreshToken' });
});

test.each<[string, (value: string) => string]>([
  ['as it is', (value) => `x${value}y`],
  ['in JSON', (value) => JSON.stringify({ value })],
  ['in an address', (value) => `/path?name=${encodeURIComponent(value)}`],
  ['as hexadecimal', (value) => Buffer.from(value).toString('hex')],
  ['as base64', (value) => Buffer.from(`${value}:more`).toString('base64')],
])('the sweep finds a leak %s and reports it without its value', (_form, spell) => {
  const folder = tempFolder();
  const canary = { what: 'identity: name', value: 'Élodie "Nameworth"' };
  writeFileSync(join(folder, 'harmless.log'), 'nothing here');
  writeFileSync(join(folder, 'leaking.log'), spell(canary.value));
  expect(sweep(folder, [canary], () => false)).toEqual([{ file: 'leaking.log', what: 'identity: name' }]);
  expect(sweep(folder, [canary], (file) => file === 'leaking.log')).toEqual([]);
});
