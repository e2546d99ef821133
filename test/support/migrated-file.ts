import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageVersion } from '../../src/runtime/package-version.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';

const migratedAt = Date.parse('2026-05-01T00:00:00.000Z');
const templates = new Map<string, Buffer>();

/**
 * Writes an empty mirror that has every migration to `file`, unless `file` exists. The migrations run once per process
 * and version; each further file is a copy, which takes a fiftieth of the time. Tests of the migrations and of a first
 * start do not use it.
 */
export function placeMigrated(file: string, version = packageVersion()): void {
  if (existsSync(file)) return;
  const template = templates.get(version) ?? makeTemplate(version);
  templates.set(version, template);
  writeFileSync(file, template, { mode: 0o600, flag: 'wx' });
}

function makeTemplate(version: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-template-'));
  try {
    const database = openSqlite(join(folder, 'mirror.db'));
    const clock = { now: () => migratedAt, monotonic: () => migratedAt, wait: async () => {} };
    migrateSqlite(database, { clock, version });
    database.close();
    return readFileSync(database.file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
