import { isFault } from '../../../domain/fault.js';
import type { SealedEntries, SealedEntry } from '../../../vault/ports.js';
import type { PostgresLocation } from '../../database-location.js';
import { describeVault } from './described-schema.js';
import { openPostgres, type PostgresDatabase } from './open.js';
import { vaultSchemaOf } from './schema-names.js';
import { schemaSql, vaultSchemaSql } from './schema-sql.js';
import { inTransaction, lockTimeoutMs, type Transaction } from './transaction.js';

/**
 * Vault statements never queue behind a page write. Idle connections are closed, so it usually has none, and so is one on
 * which no answer comes back: each statement takes milliseconds, and no request can be made without a token. A server that
 * is there answers a statement that waits for a lock, so it gets longer than that takes.
 */
const connections = {
  applicationName: 'rosterd-vault',
  max: 2,
  idleMs: 10_000,
  answerMillis: lockTimeoutMs + 5_000,
} as const;

/** A holder that froze or died loses its lock after this time; a living one renews it. */
const vaultLockSeconds = 20;

/** An administrator may create this role: it then owns the vault, and the login has to take it to read an entry. */
const vaultRole = 'rosterd_vault';

/** The role of every process that may hold a lock, to free those of a process that is known to have ended. */
export interface PostgresVaultParts {
  readonly isGone: (holder: string) => boolean;
}

/** Connects at the first use. Creates the schema of the vault where it is missing, as after a restore. */
export function openPostgresVault(place: PostgresLocation, parts: PostgresVaultParts): SealedEntries {
  return new PostgresVault(place, parts);
}

interface Opened {
  readonly database: PostgresDatabase;
  readonly schema: string;
  readonly hasRole: boolean;
}

type Work<Result> = (transaction: Transaction, schema: string) => Promise<Result>;

interface EntryRow {
  readonly key: string;
  readonly key_id: string;
  readonly sealed: string;
}

const entryOf = ({ key, key_id: keyId, sealed }: EntryRow): SealedEntry => ({ key, keyId, sealed });

class PostgresVault implements SealedEntries {
  #opening: Promise<Opened> | undefined;

  constructor(
    private readonly place: PostgresLocation,
    private readonly parts: PostgresVaultParts,
  ) {}

  async read(key: string): Promise<SealedEntry | null> {
    const row = await this.#run((transaction, schema) =>
      transaction.row<EntryRow>(
        `SELECT key, key_id, sealed FROM ${schema}.vault_entries WHERE key = $1`,
        key,
      ),
    );
    return row === undefined ? null : entryOf(row);
  }

  async write({ key, keyId, sealed }: SealedEntry, fence: number | null): Promise<boolean> {
    return await this.#run(async (transaction, schema) => {
      await transaction.run(durable);
      // FOR SHARE: another holder cannot take the lock between this check and the commit.
      const held = `SELECT 1 FROM ${schema}.vault_locks WHERE key = $1 AND fence = $2 FOR SHARE`;
      if (fence !== null && (await transaction.row(held, key, fence)) === undefined) return false;
      await transaction.run(
        `INSERT INTO ${schema}.vault_entries (key, key_id, sealed) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE
         SET key_id = excluded.key_id, sealed = excluded.sealed, written_at = excluded.written_at`,
        ...[key, keyId, sealed],
      );
      return true;
    });
  }

  async replace(before: SealedEntry, after: SealedEntry): Promise<boolean> {
    return await this.#run(async (transaction, schema) => {
      await transaction.run(durable);
      const changed = await transaction.run(
        `UPDATE ${schema}.vault_entries SET key_id = $3, sealed = $4 WHERE key = $1 AND sealed = $2`,
        ...[before.key, before.sealed, after.keyId, after.sealed],
      );
      return changed === 1;
    });
  }

  async remove(key: string): Promise<void> {
    await this.#run(async (transaction, schema) => {
      await transaction.run(durable);
      await transaction.run(`DELETE FROM ${schema}.vault_entries WHERE key = $1`, key);
    });
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const rows = await this.#run((transaction, schema) =>
      transaction.rows<{ key: string }>(
        `SELECT key FROM ${schema}.vault_entries WHERE starts_with(key, $1) ORDER BY key`,
        prefix,
      ),
    );
    return rows.map(({ key }) => key);
  }

  async byKeyId(): Promise<readonly { readonly keyId: string; readonly entries: number }[]> {
    return await this.#run((transaction, schema) =>
      transaction.rows<{ keyId: string; entries: number }>(
        `SELECT key_id AS "keyId", count(*) AS entries FROM ${schema}.vault_entries GROUP BY 1 ORDER BY 1`,
      ),
    );
  }

  async underOtherKeys(keyId: string, after: string, limit: number): Promise<readonly SealedEntry[]> {
    const rows = await this.#run((transaction, schema) =>
      transaction.rows<EntryRow>(
        `SELECT key, key_id, sealed FROM ${schema}.vault_entries
         WHERE key_id <> $1 AND key > $2 ORDER BY key LIMIT $3`,
        ...[keyId, after, limit],
      ),
    );
    return rows.map(entryOf);
  }

  async claim(key: string, holder: string): Promise<number | null> {
    const { isGone } = this.parts;
    return await this.#run(async (transaction, schema) => {
      const found = await transaction.row<{ holder: string; expired: 0 | 1 }>(
        `SELECT holder, expires_at <= clock_timestamp() AS expired FROM ${schema}.vault_locks WHERE key = $1`,
        key,
      );
      // A late claim of one that took over meanwhile changes nothing: the statement names the holder it may replace.
      const dead = found !== undefined && isGone(found.holder) ? found.holder : '';
      if (found !== undefined && found.expired === 0 && dead === '') return null;
      const claimed = await transaction.row<{ fence: number }>(
        `INSERT INTO ${schema}.vault_locks AS l (key, holder, fence, expires_at)
         VALUES ($1, $2, nextval($4::regclass), clock_timestamp() + interval '${vaultLockSeconds} seconds')
         ON CONFLICT (key) DO UPDATE
         SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at
         WHERE l.expires_at <= clock_timestamp() OR l.holder = $3
         RETURNING fence`,
        ...[key, holder, dead, `${schema}.vault_fences`],
      );
      return claimed?.fence ?? null;
    });
  }

  async renew(key: string, fence: number): Promise<boolean> {
    return await this.#run(async (transaction, schema) => {
      const renewed = await transaction.run(
        `UPDATE ${schema}.vault_locks SET expires_at = clock_timestamp() + interval '${vaultLockSeconds} seconds'
         WHERE key = $1 AND fence = $2`,
        ...[key, fence],
      );
      return renewed === 1;
    });
  }

  async release(key: string, fence: number): Promise<void> {
    await this.#run(async (transaction, schema) => {
      await transaction.run(`DELETE FROM ${schema}.vault_locks WHERE key = $1 AND fence = $2`, key, fence);
    });
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => null);
    await opened?.database.close();
  }

  /** Looks again after a refusal: an administrator may have made the role of the vault since this process looked. */
  async #run<Result>(work: Work<Result>): Promise<Result> {
    const opened = await this.#opened();
    try {
      return await this.#within(opened, work);
    } catch (error) {
      if (opened.hasRole || !isFault(error, 'database_unusable')) throw error;
      if ((await this.#opening) === opened) {
        this.#opening = undefined;
        await opened.database.close();
      }
      const again = await this.#opened();
      if (!again.hasRole) throw error;
      return await this.#within(again, work);
    }
  }

  async #within<Result>({ database, schema, hasRole }: Opened, work: Work<Result>): Promise<Result> {
    return await inTransaction(database, async (transaction) => {
      if (hasRole) await transaction.run(`SET LOCAL ROLE ${vaultRole}`);
      return await work(transaction, schema);
    });
  }

  #opened(): Promise<Opened> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      // The next use tries again.
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Opened> {
    const database = await openPostgres(this.place, connections);
    try {
      const schema = vaultSchemaSql(database.schema);
      return { database, schema, hasRole: await prepared(database, schema) };
    } catch (error) {
      await database.close();
      throw error;
    }
  }
}

/** Creates what is missing, and gives it to its role if an administrator made one. Returns whether it did. */
function prepared(database: PostgresDatabase, schema: string): Promise<boolean> {
  return inTransaction(database, async (transaction) => {
    const before = await readState(transaction, database.schema);
    const hasRole = before.role === 1;
    if (before.owner === vaultRole || (before.owner !== null && !hasRole)) return hasRole;
    // As in a migration: two hosts that start at once take turns.
    await transaction.run("SELECT pg_advisory_xact_lock(x'726f7374'::int, hashtext($1))", schema);
    const { owner } = await readState(transaction, database.schema);
    if (owner === null) {
      await transaction.run(schemaSql('0021_vault.sql', database));
      await describeVault(transaction, database);
    }
    if (hasRole && owner !== vaultRole) await transaction.run(given(schema));
    return hasRole;
  });
}

interface State {
  /** The owner of the table of entries; null where there is none. */
  readonly owner: string | null;
  /** Whether the vault's role was granted to this login. A superuser may take it without, and gains nothing by it. */
  readonly role: 0 | 1;
}

/** Reads the catalog, because `to_regclass` fails in a schema that this login may not use. */
async function readState(transaction: Transaction, schema: string): Promise<State> {
  const found = await transaction.row<State>(
    `SELECT (SELECT pg_get_userbyid(c.relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relname = 'vault_entries') AS owner,
            EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.roleid = (SELECT oid FROM pg_roles WHERE rolname = $2)
                    AND m.member = (SELECT oid FROM pg_roles WHERE rolname = current_user)) AS role`,
    ...[vaultSchemaOf(schema), vaultRole],
  );
  if (found === undefined) throw new Error('a query without FROM returned no row');
  return found;
}

/** The schema last: its former owner may not use it afterwards. */
const given = (schema: string): string =>
  [
    `GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${vaultRole}`,
    ...['vault_entries', 'vault_locks'].map(
      (table) => `ALTER TABLE ${schema}.${table} OWNER TO ${vaultRole}`,
    ),
    `ALTER SEQUENCE ${schema}.vault_fences OWNER TO ${vaultRole}`,
    `ALTER SCHEMA ${schema} OWNER TO ${vaultRole}`,
  ].join('; ');

/** A server that commits asynchronously by default must not lose a token that is about to be used. */
const durable = `SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`;
