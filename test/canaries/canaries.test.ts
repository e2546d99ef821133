import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { giveToOwnRole } from '../postgres/own-role.js';
import { built } from '../torture/life.js';
import { mayHold, playDay } from './scenario.js';
import { sweep } from './sweep.js';

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-canaries-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a day at debug level leaves no identity and no secret in any byte outside the places where they belong', async () => {
  const folder = freshFolder();
  const { canaries, said } = await playDay(folder, built);
  expect(sweep(folder, canaries, mayHold)).toEqual([]);
  expect(said.length).toBeGreaterThan(50);
  // The check works: values that belong in the database are found there.
  const anywhere = sweep(folder, canaries, () => false);
  expect(anywhere).toContainEqual({ file: 'mirror.db', what: 'identity: email' });
  expect(anywhere).toContainEqual({ file: 'credentials.json', what: 'credentials: refreshToken' });
});

test('such a day on a server leaves identity in the schema of identities alone, and its password nowhere', async () => {
  const folder = freshFolder();
  const database = await freshDatabase();
  const own = await giveToOwnRole(database.url);
  const { canaries, said } = await playDay(folder, built, own);
  expect(sweep(folder, canaries, mayHold)).toEqual([]);
  expect(said.length).toBeGreaterThan(50);
  const anywhere = sweep(folder, canaries, () => false);
  expect(anywhere).toContainEqual({ file: 'server/rosterd_identity.identity_rows', what: 'identity: email' });
  expect(readFileSync(join(folder, 'server', 'public.investment_rows'), 'utf8')).toContain('inv_');
  await database.drop();
  await own.dropRole(await postgresUrl());
});

test.each<[string, (value: string) => string]>([
  ['as it is', (value) => `x${value}y`],
  ['in JSON', (value) => JSON.stringify({ value })],
  ['in an address', (value) => `/path?name=${encodeURIComponent(value)}`],
  ['as hexadecimal', (value) => Buffer.from(value).toString('hex')],
  ['as base64', (value) => Buffer.from(`${value}:more`).toString('base64')],
])('the sweep finds a leak %s and reports it without its value', (_form, spell) => {
  const folder = freshFolder();
  const canary = { what: 'identity: name', value: 'Élodie "Nameworth"' };
  writeFileSync(join(folder, 'harmless.log'), 'nothing here');
  writeFileSync(join(folder, 'leaking.log'), spell(canary.value));
  expect(sweep(folder, [canary], () => false)).toEqual([{ file: 'leaking.log', what: 'identity: name' }]);
  expect(sweep(folder, [canary], (file) => file === 'leaking.log')).toEqual([]);
});
