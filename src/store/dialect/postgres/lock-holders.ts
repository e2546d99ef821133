import { printable } from '../../../domain/printable.js';
import type { PostgresDatabase } from './open.js';

/** A session of the server with a transaction that has a lock on a table of the mirror. */
export interface LockHolder {
  readonly pid: number;
  readonly program: string;
  readonly user: string;
}

/** Whether the server reported that a lock was not granted in time. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03';
}

/** Returns who has locks on the mirror's tables now, the oldest transaction first. Empty if the server does not say it. */
export async function lockHolders({
  pool,
  schema,
  identitySchema,
}: PostgresDatabase): Promise<readonly LockHolder[]> {
  try {
    const { rows } = await pool.query<LockHolder>(holding, [schema, identitySchema]);
    return rows.map((row) => ({ ...row, program: printable(row.program), user: printable(row.user) }));
  } catch {
    return [];
  }
}

const holding = `
  SELECT a.pid, coalesce(nullif(a.application_name, ''), 'a program') AS program, coalesce(a.usename::text, 'the server') AS user
  FROM pg_stat_activity a
  WHERE a.pid <> pg_backend_pid() AND EXISTS (
    SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE l.pid = a.pid AND l.granted AND n.nspname IN ($1, $2) AND c.relkind IN ('r', 'p')
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  ORDER BY a.xact_start, a.pid LIMIT 5`;
