import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { shownAddress, sqliteFileOf, withoutPassword } from '../../src/config/database.js';
import { effectiveSettings } from '../../src/config/describe.js';
import { load, minimal, problems } from './load-config.js';

const canary = 'canary:p@ss/w%rd?';
const withPassword = `postgres://app:${encodeURIComponent(canary)}@db.example.com:6432/mirror?sslmode=require`;

const databaseOf = (set: Record<string, unknown>, env: Record<string, string> = {}) =>
  load({ ...minimal, ...set }, { env }).config.database;

test('the password is removed from the address and read at use', async () => {
  const database = databaseOf({ database: withPassword });
  expect(database).toMatchObject({
    kind: 'postgres',
    url: 'postgres://app@db.example.com:6432/mirror?sslmode=require',
  });
  if (database.kind !== 'postgres') throw new Error('unreachable');
  expect(await database.password?.reveal()).toBe(canary);
  for (const shown of [inspect(database, { depth: 9 }), JSON.stringify(database)])
    expect(shown).not.toMatch(/canary/);
});

test.each([
  ['a reference', { databasePassword: { env: 'PW' } }, canary],
  ['nothing, which leaves it to the surroundings', {}, undefined],
])('the database password can come from %s', async (_, set, expected) => {
  const address = 'postgresql://app@db/mirror?ssl=1&ssl_min_protocol_version=TLSv1.3';
  const database = databaseOf({ database: address, ...set }, { PW: canary });
  if (database.kind !== 'postgres') throw new Error('unreachable');
  expect(await database.password?.reveal()).toBe(expected);
});

test('the effective settings never show the password, whatever the origin of the address', () => {
  for (const loaded of [
    load({ ...minimal, database: withPassword }),
    load(minimal, { env: { ROSTERD_DATABASE: withPassword } }),
    // Azure's names of users contain an `@`, which people do not encode.
    load({ ...minimal, database: 'postgres://app@dept:canary@db/mirror' }),
    load({ ...minimal, database: 'postgres://app:slash/canary@db/mirror'.replace('/canary', '%2Fcanary') }),
  ]) {
    const rows = effectiveSettings(loaded);
    expect(JSON.stringify(rows)).not.toMatch(/canary/);
    expect(rows.find(({ path }) => path === 'database')?.value).toMatch(/^postgres:\/\/app(?:@dept)?:…@db/);
  }
  expect(shownAddress('sqlite:./a:b@c.db')).toBe('sqlite:./a:b@c.db');
  expect(shownAddress('postgres://app@db:5432/mirror')).toBe('postgres://app@db:5432/mirror');
  expect(shownAddress('postgres://app:slash/canary@db/mirror')).toBe('postgres://app:…@db/mirror');
});

test.each([
  ['postgres://', /expected postgres:\/\/USER@HOST/],
  ['postgres://db', /expected postgres:\/\/USER@HOST/],
  ['postgres://app@db/mirror?password=canary', /no password there/],
  ['postgres://app:canary@db:port/mirror', /expected postgres:\/\/USER@HOST/],
  ['postgres://app:canary@db/mirror#canary', /expected postgres:\/\/USER@HOST/],
  ['sqlite::memory:', /a mirror is a file, which other processes read, too/],
  ['mysql://app:canary@db/mirror', /expected sqlite:PATH/],
  ['postgres:app:canary@db/mirror', /expected sqlite:PATH/],
  ['postgres:/app:canary@db/mirror', /expected sqlite:PATH/],
  ['postgres://app:canary', /expected postgres:\/\/USER@HOST/],
  ['postgres://app:canary/mirror', /expected postgres:\/\/USER@HOST/],
  ['host=db user=app password=canary dbname=mirror', /expected sqlite:PATH/],
  ["user=app PASSWORD = 'two canary'", /expected sqlite:PATH/],
  ['mysql://app:slash/canary@db/mirror', /expected sqlite:PATH/],
  ['postgres://app:slash/canary@db/mirror', /expected postgres:\/\/USER@HOST/],
  ['postgres://app:12/canary@db/mirror', /expected postgres:\/\/USER@HOST/],
  ['postgres://app:100%canary@db/mirror', /expected postgres:\/\/USER@HOST.*, with %25 for %/],
  ['postgres://app%@db/mirror', /with %25 for %/],
  ['postgres://app@db/100%', /with %25 for %/],
  ['postgres://app:canary@db/mirror?ssl_mode=require', /options such as sslmode=verify-full/],
  ['postgres://app:canary@db/mirror?a=b&sslMode=verify-full', /options such as sslmode=verify-full/],
  ['postgres://app:canary@db/mirror?sslmode=', /options such as sslmode=verify-full/],
  ['postgres://app:canary@db/mirror?ssl-root-cert=ca.pem', /options such as sslmode=verify-full/],
  ['postgres://app:canary@db/mirror?sslmod=require', /options such as sslmode=verify-full/],
  ['postgres://app:canary@db/mirror?SSL=true', /options such as sslmode=verify-full/],
  ['postgres://app:canary@db/mirror?tls=true', /options such as sslmode=verify-full/],
])('%s is rejected without printing its password', (database, message) => {
  const [problem] = problems({ ...minimal, database });
  expect(problem).toMatchObject({ path: 'database', message: expect.stringMatching(message) });
  expect(problem?.message).not.toMatch(/canary/);
});

test('a password for a SQLite file, and two passwords, are reported', () => {
  const databasePassword = { env: 'PW' };
  expect(problems({ ...minimal, databasePassword })).toMatchObject([{ path: 'databasePassword' }]);
  expect(problems({ ...minimal, database: withPassword, databasePassword })).toMatchObject([
    { path: 'databasePassword', message: expect.stringContaining('contains a password too') },
  ]);
});

test('sqliteFileOf throws for a PostgreSQL address', () => {
  expect(() => sqliteFileOf(databaseOf({ database: withPassword }))).toThrow('is not a file');
});

test.each([
  ['postgres:///mirror?host=/run/postgresql', 'postgres://%2Frun%2Fpostgresql/mirror'],
  [
    'postgres:///mirror?host=/run/postgresql&port=5433&user=a%40b&sslmode=disable',
    'postgres://a%40b@%2Frun%2Fpostgresql:5433/mirror?sslmode=disable',
  ],
  ['postgresql:///mirror?user=app&host=db.example.com', 'postgresql://app@db.example.com/mirror'],
  ['postgres://app@db/mirror?host=/run/postgresql', 'postgres://app@db/mirror?host=/run/postgresql'],
])('the host of %s is where a password can stand before it', (address, url) => {
  expect(withoutPassword(address)).toEqual({ url, password: null });
});
