import type pg from 'pg';
import { withPostgresFaults } from './faults.js';
import { type MissingRight, missingRights } from './missing-rights.js';
import type { PostgresDatabase } from './open.js';
import { newestGrant, readerRoles } from './roles.js';

/** The result of inspecting the server. The inspection changes nothing. */
export interface ServerReport {
  readonly version: string;
  readonly user: string;
  readonly schema: string;
  readonly identitySchema: string;
  /** Whether this user may create the objects that a migration creates. */
  readonly mayCreate: boolean;
  /** Tables of the mirror that another login owns, and that this user cannot write. */
  readonly unwritable: readonly string[];
  /** What this user lacks on its own tables. */
  readonly missing: readonly MissingRight[];
  /** The reader roles that do not exist. */
  readonly rolesMissing: readonly string[];
  /** The reader roles that lack what this version grants them. */
  readonly rolesUngranted: readonly string[];
  /** Whether this user may take the analyst role, which the dashboard's SQL box needs while names are masked. */
  readonly mayMask: boolean;
  /** How many more connections this user can open. */
  readonly connectionsLeft: number;
  readonly pooler: Pooler;
  readonly standby: boolean;
  /** Whether sessions of this user begin as `default_transaction_read_only` says. */
  readonly readOnly: boolean;
  /** Settings with which a power cut may lose or damage committed data, as `name = off`. */
  readonly undurable: readonly string[];
  /** Copies of the server's write-ahead log: erased bytes remain in them until they are recycled. */
  readonly log: { readonly standbys: number; readonly slots: number; readonly archived: boolean };
}

/** `none` and `session` keep a session's state; with `transaction` each transaction may use another server session. */
export type Pooler = 'none' | 'session' | 'transaction';

/** Inspects the server. Needs two connections of the pool. Throws the faults of `postgresFault`. */
export async function inspectServer(database: PostgresDatabase): Promise<ServerReport> {
  return withPostgresFaults(database.url, async () => {
    const { rows } = await database.pool.query<Row>(inspection, [
      database.schema,
      database.identitySchema,
      readerRoles,
      newestGrant,
    ]);
    const [row] = rows;
    if (row === undefined) throw new Error('a query without FROM returned no row');
    return {
      version: row.version,
      user: row.username,
      schema: database.schema,
      identitySchema: database.identitySchema,
      mayCreate: row.may_create === 1,
      unwritable: row.unwritable ?? [],
      missing: await missingRights(database),
      rolesMissing: row.roles_missing ?? [],
      rolesUngranted: row.roles_ungranted ?? [],
      mayMask: row.may_mask === 1,
      connectionsLeft: row.connections_left,
      pooler: await poolerOf(database.pool),
      standby: row.standby === 1,
      readOnly: row.read_only === 1,
      undurable: row.undurable ?? [],
      log: { standbys: row.standbys, slots: row.slots, archived: row.archived === 1 },
    };
  });
}

interface Row {
  readonly version: string;
  readonly username: string;
  readonly may_create: 0 | 1;
  readonly unwritable: readonly string[] | null;
  readonly roles_missing: readonly string[] | null;
  readonly roles_ungranted: readonly string[] | null;
  readonly may_mask: 0 | 1;
  readonly connections_left: number;
  readonly standby: 0 | 1;
  readonly read_only: 0 | 1;
  readonly undurable: readonly string[] | null;
  readonly standbys: number;
  readonly slots: number;
  readonly archived: 0 | 1;
}

/** Reads only views and columns that every role may read. Some show less to an ordinary user; none fails. */
const inspection = `
  SELECT current_setting('server_version') AS version, current_user::text AS username,
    has_schema_privilege($1, 'CREATE')
      AND (to_regnamespace(quote_ident($2)) IS NOT NULL OR has_database_privilege(current_database(), 'CREATE')) AS may_create,
    (SELECT array_agg(c.relname::text ORDER BY c.relname)
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ($1, $2) AND c.relkind IN ('r', 'p')
       AND (n.nspname = $2 OR c.relname IN ('sources', 'investment_rows', 'history_rows', 'change_rows', 'leases'))
       AND NOT has_table_privilege(c.oid, 'INSERT') AND NOT pg_has_role(c.relowner, 'USAGE')) AS unwritable,
    (SELECT array_agg(role) FROM unnest($3::text[]) AS role WHERE to_regrole(role) IS NULL) AS roles_missing,
    (SELECT array_agg(rolname::text ORDER BY rolname) FROM pg_roles
     WHERE rolname = ANY ($3) AND NOT has_table_privilege(oid, to_regclass($4), 'SELECT')) AS roles_ungranted,
    (SELECT coalesce(bool_or(pg_has_role(oid, CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)), false)
     FROM pg_roles WHERE rolname = ($3::text[])[1]) AS may_mask,
    (SELECT least(
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       (SELECT CASE WHEN datconnlimit >= 0 THEN datconnlimit
          - (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = d.oid) END
        FROM pg_database d WHERE datname = current_database()),
       (SELECT CASE WHEN rolconnlimit >= 0 THEN rolconnlimit
          - (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid = r.oid) END
        FROM pg_roles r WHERE rolname = current_user))::int) AS connections_left,
    pg_is_in_recovery() AS standby,
    current_setting('default_transaction_read_only') = 'on' AS read_only,
    (SELECT array_agg(name || ' = ' || setting ORDER BY name) FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off') AS undurable,
    (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
    (SELECT count(*)::int FROM pg_replication_slots) AS slots,
    current_setting('archive_mode') <> 'off' AS archived`;

/**
 * Detects a connection pooler. A server announces its process id when a session begins; a pooler invents one. A pooler
 * in transaction mode gives a server process back after each transaction, so the next client to ask gets the same one.
 */
async function poolerOf(pool: pg.Pool): Promise<Pooler> {
  const first = await pool.connect();
  try {
    const second = await pool.connect();
    try {
      const before = await processOf(first);
      await second.query('BEGIN READ ONLY');
      const lent = await processOf(second);
      const after = await processOf(first);
      await second.query('ROLLBACK');
      return poolerBehind({ told: announcedPid(first), before, after, lent });
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
}

/** Returns the process id announced when the session began. The driver has it, but its types do not declare it. */
function announcedPid(client: object): number | null {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : null;
}

export interface Processes {
  readonly told: number | null;
  readonly before: number;
  readonly after: number;
  /** Of the other connection, whose transaction is open between `before` and `after`. */
  readonly lent: number;
}

export function poolerBehind({ told, before, after, lent }: Processes): Pooler {
  if (lent === before || after !== before) return 'transaction';
  return told === before ? 'none' : 'session';
}

async function processOf(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? -1;
}

/** Returns the holders of leases that have not expired at `now`. */
export async function leaseHolders(database: PostgresDatabase, now: string): Promise<readonly string[]> {
  return await withPostgresFaults(database.url, async () => {
    const { rows: tables } = await database.pool.query("SELECT 1 WHERE to_regclass('leases') IS NOT NULL");
    if (tables.length === 0) return [];
    const { rows } = await database.pool.query<{ holder: string }>(
      'SELECT DISTINCT holder FROM leases WHERE expires_at > $1 ORDER BY holder',
      [now],
    );
    return rows.map(({ holder }) => holder);
  });
}
