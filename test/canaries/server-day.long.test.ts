import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { giveToOwnRole } from '../postgres/own-role.js';
import { tempFolder } from '../store/temp-folder.js';
import { built } from '../torture/life.js';
import { mayHold, playDay } from './scenario.js';
import { sweep } from './sweep.js';

test('a day at debug level on a server leaves identity in the schema of identities alone, and its password nowhere', async () => {
  const folder = tempFolder();
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
