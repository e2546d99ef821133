import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { newestMigration } from '../../../src/store/newest-migration.js';
import type { Sight, Storage } from './storage.js';

const ends = ['', '-wal', '-shm'];

/** A mirror in this file. */
export function sqliteStorage(file: string): Storage {
  return {
    kind: 'sqlite',
    setting: `sqlite:${file}`,
    look: (work) => looking(file, { readonly: true }, work),
    lookAtRemains: async (work) => {
      if (!existsSync(file)) return null;
      // A copy, so that the next daemon finds the original unchanged.
      const copy = join(dirname(file), 'remains');
      mkdirSync(copy, { recursive: true });
      for (const end of ['', '-wal'])
        if (existsSync(file + end)) cpSync(file + end, join(copy, `copy${end}`));
      try {
        return await looking(join(copy, 'copy'), {}, work);
      } finally {
        rmSync(copy, { recursive: true });
      }
    },
    // SQLite guarantees nothing about a file that is deleted while in use.
    forget: async () => {
      for (const end of ends) rmSync(file + end, { force: true });
    },
    expireLeases: async () => {
      const database = new Sqlite(file);
      database.prepare("UPDATE leases SET expires_at = '2000-01-01T00:00:00.000Z'").run();
      database.close();
    },
    close: async () => {},
  };
}

async function looking<Result>(
  file: string,
  options: Sqlite.Options,
  work: (sight: Sight) => Promise<Result>,
): Promise<Result> {
  const database = new Sqlite(file, { fileMustExist: true, timeout: 5_000, ...options });
  try {
    return await work({
      rows: async <Row>(sql: string) => database.prepare<[], Row>(sql).all(),
      isWhole: async () =>
        Number(database.pragma('user_version', { simple: true })) === newestMigration('sqlite'),
      damage: async () => {
        const [check] = database.pragma('integrity_check') as { integrity_check: string }[];
        return check?.integrity_check === 'ok' ? null : (check?.integrity_check ?? 'no answer');
      },
    });
  } finally {
    database.close();
  }
}
