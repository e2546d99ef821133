import { Fault, isFault } from '../../../domain/fault.js';
import { printable } from '../../../domain/printable.js';

/** The part of an open database that is needed to ask for its sessions. */
interface Locked {
  readonly pool: { query<Row>(text: string, values: readonly unknown[]): Promise<{ readonly rows: Row[] }> };
  readonly url: string;
  readonly schema: string;
  readonly identitySchema: string;
}

/** A session of the server with a transaction that has a lock on a table of the mirror. */
export interface LockHolder {
  readonly pid: number;
  readonly program: string;
  readonly user: string;
}

/** Whether the server reported that a lock was not granted in time. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03';
}

/**
 * Returns the fault for a lock that was not granted in time, which names who has locks on the mirror; any other error
 * unchanged. `outcome` is what the hint begins with, such as "Nothing was replaced." With `table`, only sessions that have
 * locks on that table are named.
 */
export async function namingHolders(
  database: Locked,
  error: unknown,
  outcome: string,
  table: string | null = null,
): Promise<unknown> {
  if (!isFault(error, 'database_busy') || !isLockTimeout(error.about.cause)) return error;
  const holders = await lockHolders(database, table);
  const [first] = holders;
  const who = holders.map(({ program, user, pid }) => `${program} of ${user} (process ${pid})`);
  return new Fault(
    'database_busy',
    `${database.url} is in use by ${who.join(', ') || 'another transaction'}`,
    {
      hint:
        first === undefined
          ? `${outcome} Run this again; long transactions are in pg_stat_activity.`
          : `${outcome} Wait for its end, or end it with SELECT pg_terminate_backend(${first.pid}), then run this again.`,
      locked: true,
      cause: error,
    },
  );
}

/**
 * Returns who has locks on the mirror's tables now, or on one of them: those that shut everyone out first, then by the age
 * of their transactions, as far as the server says it. Sessions that wait for a lock themselves are left out, unless all do.
 * Empty if the server does not say it.
 */
async function lockHolders(
  { pool, schema, identitySchema }: Omit<Locked, 'url'>,
  table: string | null,
): Promise<readonly LockHolder[]> {
  try {
    const { rows } = await pool.query<LockHolder & Waiting>(holding, [schema, identitySchema, table]);
    const working = rows.filter(({ waits }) => !waits);
    return (working.length > 0 ? working : rows).map(({ pid, program, user }) => ({
      pid,
      program: printable(program),
      user: printable(user),
    }));
  } catch {
    return [];
  }
}

interface Waiting {
  readonly waits: boolean;
}

/** The server tells a login that is no superuser the program of another login, but not since when its transaction runs. */
const holding = `
  SELECT a.pid, coalesce(nullif(a.application_name, ''), 'a program') AS program, coalesce(a.usename::text, 'the server') AS user,
    EXISTS (SELECT FROM pg_locks w WHERE w.pid = a.pid AND NOT w.granted) AS waits
  FROM pg_stat_activity a CROSS JOIN LATERAL (
    SELECT bool_or(l.mode = 'AccessExclusiveLock') AS alone
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE l.pid = a.pid AND l.granted AND n.nspname IN ($1, $2) AND c.relkind IN ('r', 'p')
      AND ($3::text IS NULL OR c.relname = $3)
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) held
  WHERE a.pid <> pg_backend_pid() AND held.alone IS NOT NULL
  ORDER BY waits, held.alone DESC, a.xact_start, a.pid LIMIT 5`;
