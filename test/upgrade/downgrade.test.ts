import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { readCredentials } from '../../src/client/tokens/credentials-file.js';
import { Fault } from '../../src/domain/fault.js';
import { readEndpointState } from '../../src/endpoint/state.js';
import { openState } from '../../src/platform/state/database.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { tempFolder } from '../store/temp-folder.js';

/*
 * What a later version wrote, opened by this one, as a downgrade does: refused with the version or format that wrote it
 * and the way back in one sentence.
 */
const clock = { now: () => 0, monotonic: () => 0, wait: async () => {} };
const later = "(9999, 'later', 'x', '2027-01-01T00:00:00.000Z', '9.9.9')";

const places: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  'a mirror on SQLite': async (folder) => {
    const file = join(folder, 'mirror.db');
    const database = openSqlite(file);
    migrateSqlite(database, { clock, version: '0.0.0-test' });
    database.raw.exec(`INSERT INTO migrations VALUES ${later}; PRAGMA user_version = 9999`);
    database.close();
    const again = openSqlite(file);
    again.close();
    return again;
  },
  'a mirror on PostgreSQL': async () => {
    const { url } = await migratedDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query(`INSERT INTO migrations VALUES ${later}`);
    await client.end();
    const database = await openPostgres(url);
    onTestFinished(() => database.close());
    return database;
  },
  "the sandbox's own database": async (folder) => {
    const file = join(folder, 'platform.db');
    openState(file).close();
    const raw = new Sqlite(file);
    raw.exec("INSERT INTO migrations VALUES ('9999_later.sql', 'x')");
    raw.close();
    return openState(file);
  },
  'a file of credentials': (folder) => {
    const file = join(folder, 'crm.json');
    writeFileSync(file, JSON.stringify({ format: 2, clientId: 'c', accessToken: 'a' }), { mode: 0o600 });
    return readCredentials(file);
  },
  'the state of a webhook endpoint': (folder) => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'endpoint.json');
    writeFileSync(file, JSON.stringify({ format: 2, id: 'we_1', secrets: [] }), { mode: 0o600 });
    return readEndpointState(file);
  },
};

test.each(Object.entries(places))(
  'downgrade: %s that a later version wrote is refused, with the way back',
  async (_, open) => {
    const failure = await (async () => open(tempFolder()))().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Fault);
    const { message, about } = failure as Fault;
    expect(message).toMatch(/written by (rosterd 9\.9\.9|a later version)/);
    expect(about.hint).toMatch(/[Ii]nstall that version/);
    expect(`${message}${about.hint}`).not.toMatch(/\n/);
  },
);
