import type { Instant } from '../domain/instant.js';
import type { Role } from '../domain/role.js';
import type { Connection } from './connection.js';

export interface OperatorRequest {
  readonly source: string;
  readonly kind: 'resync' | 'accept_deletions' | 'retry_quarantine';
  /** The number of rows whose deletion was confirmed; null for other kinds. */
  readonly confirmed_rows: number | null;
  readonly actor: string;
  readonly role: Role;
  readonly asked_at: Instant;
}

/**
 * What operators asked for at a console, until the daemon that works on the source has performed it. In the database,
 * because that daemon may be another member of the fleet, and so that a crash loses no request.
 */
export class OperatorRequests {
  constructor(private readonly connection: Connection) {}

  async list(): Promise<readonly OperatorRequest[]> {
    const rows = await this.connection.run((db) =>
      db.selectFrom('operator_requests').selectAll().orderBy('asked_at').execute(),
    );
    return rows.map((row) => ({ ...row, role: row.role as Role, asked_at: row.asked_at as Instant }));
  }

  /** A request that waits already stays as it is, but a newer confirmation of deletions replaces an older one. */
  async add(request: OperatorRequest): Promise<void> {
    await this.connection.run((db) =>
      db
        .insertInto('operator_requests')
        .values(request)
        .onConflict((conflict) => {
          const same = conflict.columns(['source', 'kind']);
          if (request.kind !== 'accept_deletions') return same.doNothing();
          const { confirmed_rows, actor, role, asked_at } = request;
          return same.doUpdateSet({ confirmed_rows, actor, role, asked_at });
        })
        .execute(),
    );
  }

  /** Removes a request that was performed. A newer one that replaced it meanwhile stays. */
  async remove({ source, kind, confirmed_rows, asked_at }: OperatorRequest): Promise<void> {
    await this.connection.run((db) =>
      db
        .deleteFrom('operator_requests')
        .where('source', '=', source)
        .where('kind', '=', kind)
        .where('asked_at', '=', asked_at)
        .where('confirmed_rows', confirmed_rows === null ? 'is' : '=', confirmed_rows)
        .execute(),
    );
  }

  async removeAll(): Promise<void> {
    await this.connection.run((db) => db.deleteFrom('operator_requests').execute());
  }
}
