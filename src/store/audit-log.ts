import type { Instant } from '../domain/instant.js';
import type { Role } from '../domain/role.js';
import type { Connection } from './connection.js';

export interface NewAuditEntry {
  readonly at: Instant;
  /** The user or token of the console. */
  readonly actor: string;
  readonly role: Role;
  readonly action: string;
  readonly outcome: 'asked' | 'done' | 'refused' | 'failed';
  readonly source: string | null;
  /** The id of a record, or the number of a notice. */
  readonly subject: string | null;
  readonly rows_seen: number | null;
  /** A text of rosterd: counts and codes, never a value of a record. */
  readonly note: string | null;
}

export interface AuditEntry extends Omit<NewAuditEntry, 'role' | 'at'> {
  readonly entry: number;
  readonly at: string;
  readonly role: string;
}

/** What users of the console did. Entries are only added, and purged after their retention. */
export class AuditLog {
  constructor(private readonly connection: Connection) {}

  async add(entry: NewAuditEntry): Promise<void> {
    await this.connection.run((db) => db.insertInto('audit_log').values(entry).execute());
  }

  /** Returns the newest entries below the number `before`, newest first. */
  async latest(before: number | null, max: number): Promise<readonly AuditEntry[]> {
    return await this.connection.run((db) => {
      const all = db.selectFrom('audit_log').selectAll().orderBy('entry', 'desc').limit(max);
      return (before === null ? all : all.where('entry', '<', before)).execute();
    });
  }

  /** Deletes entries made before `before`. Returns how many. */
  async purge(before: Instant): Promise<number> {
    const result = await this.connection.run((db) =>
      db.deleteFrom('audit_log').where('at', '<', before).executeTakeFirstOrThrow(),
    );
    return Number(result.numDeletedRows);
  }
}
