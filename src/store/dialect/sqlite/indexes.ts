import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { schemaPath } from '../../../runtime/package-root.js';
import type { SqliteDatabase } from './open.js';
import { inTransaction } from './transaction.js';

/**
 * Builds the analysts' indexes that are missing, each in a transaction of its own, so that a stop in between
 * loses one at most and the next call goes on. Between two of them other work of this process gets its turn.
 */
export async function buildIndexes({ raw }: SqliteDatabase): Promise<void> {
  const present = new Set(raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'").pluck().all());
  for (const [statement, name] of indexStatements()) {
    if (present.has(name)) continue;
    inTransaction(raw, () => raw.exec(statement));
    await setImmediate();
  }
}

function indexStatements(): readonly (readonly [string, string])[] {
  const sql = readFileSync(schemaPath('sqlite', 'indexes.sql'), 'utf8');
  return [...sql.matchAll(/^CREATE INDEX IF NOT EXISTS (\w+) [^;]+;/gm)].map((match) => [
    match[0],
    match[1] ?? '',
  ]);
}
