import Sqlite from 'better-sqlite3';
import { markOpen } from '../../src/store/dialect/sqlite/open-files.js';

/** Opens a database as another program would, but known to this process, so that its locks are kept. */
export function openRaw(file: string, options: Sqlite.Options = {}): Sqlite.Database {
  const raw = new Sqlite(file, options);
  const closed = markOpen(file);
  const close = raw.close.bind(raw);
  raw.close = () => {
    closed();
    return close();
  };
  return raw;
}
