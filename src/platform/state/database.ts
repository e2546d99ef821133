import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { Fault } from '../../domain/fault.js';
import { schemaPath } from '../../runtime/package-root.js';
import { fold } from './fold.js';

export type State = Sqlite.Database;

/**
 * Opens the platform's database: `:memory:`, or a file that survives a restart. better-sqlite3 is synchronous, so the
 * statements of two requests cannot interleave: a synchronous handler is serializable. With `image`, the serialized
 * database of another platform, it opens a copy of that in memory.
 */
export function openState(file: string, image?: Buffer): State {
  // The file contains personal data and keys, so only its owner may read it.
  if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600));
  const state = new Sqlite(image ?? file);
  // A large world in memory then has fewer pages, which cost some 300 bytes each beside their content.
  if (file === ':memory:' && image === undefined) state.pragma('page_size = 16384');
  state.pragma('journal_mode = WAL');
  state.pragma('synchronous = NORMAL');
  state.pragma('foreign_keys = ON');
  state.function('fold', { deterministic: true }, (text) => (typeof text === 'string' ? fold(text) : text));
  state.exec('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL) STRICT');
  const applied = new Map(
    state
      .prepare<[], { name: string; checksum: string }>('SELECT name, checksum FROM migrations')
      .all()
      .map((row) => [row.name, row.checksum]),
  );
  const shipped = readdirSync(schemaPath('platform'))
    .filter((entry) => entry.endsWith('.sql'))
    .sort();
  const unknown = [...applied.keys()].find((name) => !shipped.includes(name));
  if (unknown !== undefined) {
    state.close();
    throw new Fault('usage', `${file} was written by a later version of the sandbox (it has ${unknown})`, {
      hint: 'install that version of rosterd again, name another file, or remove this one',
    });
  }
  for (const name of shipped) {
    const sql = readFileSync(schemaPath('platform', name), 'utf8');
    const checksum = createHash('sha256').update(sql).digest('hex');
    const before = applied.get(name);
    if (before === checksum) continue;
    if (before !== undefined)
      throw new Fault('usage', `${file} was made by another version of the sandbox (${name} differs)`, {
        hint: 'name another file, or remove this one',
      });
    state.transaction(() => {
      state.exec(sql);
      state.prepare('INSERT INTO migrations (name, checksum) VALUES (?, ?)').run(name, checksum);
    })();
  }
  return state;
}
