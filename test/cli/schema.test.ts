import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { buildIndexes } from '../../src/store/dialect/sqlite/indexes.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { shippedIndexes, shippedMigrations } from '../../src/store/migrate.js';
import { seedInvestment, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { fakeIo, rosterd } from './fake-io.js';

test('schema reports pending migrations without changing anything, and --apply runs them after a backup', async () => {
  const folder = tempFolder();
  const file = join(folder, 'mirror.db');
  const shipped = shippedMigrations('sqlite');
  const last = shipped.at(-1);
  const name = `${String(shipped.length).padStart(4, '0')}_${last?.name}`;
  const older = openSqlite(file);
  migrateSqlite(older, { clock: systemClock, version: '0.0.1', migrations: shipped.slice(0, -1) });
  older.close();
  const run = (...args: string[]) =>
    rosterd(['schema', '--database', file, ...args], fakeIo({ cwd: folder, clock: systemClock }));
  const before = {
    file,
    schema: shipped.length - 1,
    newest: shipped.length,
    pending: [name],
    ran: [],
    backup: null,
  };

  expect(JSON.parse((await run('--json')).out)).toEqual(before);
  const told = await run();
  expect(told).toMatchObject({ code: 0, err: '1 migration pending. Try: rosterd schema --apply\n' });
  expect(told.out).toBe(`schema ${shipped.length - 1} of ${shipped.length}: ${file}\npending  ${name}\n`);
  expect(JSON.parse((await run('--json')).out)).toEqual(before);

  const backup = `${file}.schema-${String(shipped.length - 1).padStart(4, '0')}.bak`;
  expect((await run('--apply')).out).toBe(
    `schema ${shipped.length} of ${shipped.length}: ${file}\nran      ${name}\nbackup   ${backup}\n`,
  );
  expect(existsSync(backup)).toBe(true);
  expect(JSON.parse((await run('--apply', '--json')).out)).toMatchObject({
    pending: [],
    ran: [],
    backup: null,
  });
});

test('a mirror migrated by schema --apply has every index, so that the next reader does not have to build them', async () => {
  const file = join(tempFolder(), 'mirror.db');
  const older = openSqlite(file);
  migrateSqlite(older, {
    clock: systemClock,
    version: '0.0.1',
    migrations: shippedMigrations('sqlite').slice(0, 9),
  });
  seedSource(older, 1);
  seedInvestment(older, 1, 'inv_a');
  await buildIndexes(older.raw);
  older.close();
  const { code } = await rosterd(['schema', '--apply', '--database', file], fakeIo({ clock: systemClock }));
  expect(code).toBe(0);
  const reader = openSqlite(file, { readonly: true });
  const built = reader.raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'").pluck().all();
  reader.close();
  expect(built).toEqual(expect.arrayContaining(shippedIndexes('sqlite').map(({ name }) => name)));
});

test('schema does not create a missing mirror, not even with --apply', async () => {
  const file = join(tempFolder(), 'none.db');
  for (const more of [[], ['--apply']]) {
    const { code, err } = await rosterd(['schema', '--database', file, ...more]);
    expect(code).toBe(1);
    expect(err).toContain('is not there yet');
  }
  expect(existsSync(file)).toBe(false);
});
