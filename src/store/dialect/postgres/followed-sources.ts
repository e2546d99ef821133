import type { Selectable } from 'kysely';
import type { SourceName } from '../../../domain/ids.js';
import type { FollowedSource, FollowedSourceChange, FollowedSources } from '../../../installations/ports.js';
import { followedFrom, listFollowed, raiseRevision, readRevision, writeOf } from '../../followed-sources.js';
import type { FollowedSourcesTable } from '../../operating-schema.js';
import type { PostgresDatabase } from './open.js';
import { numbered } from './placeholders.js';
import { inTransaction, type Transaction } from './transaction.js';

/** The registry of followed sources in PostgreSQL. */
export class PostgresFollowedSources implements FollowedSources {
  constructor(private readonly database: PostgresDatabase) {}

  async list(): Promise<readonly FollowedSource[]> {
    const rows = await inTransaction(this.database, (transaction) =>
      transaction.rows<Selectable<FollowedSourcesTable>>(listFollowed),
    );
    return rows.map(followedFrom);
  }

  async revision(): Promise<number> {
    const row = await inTransaction(this.database, (transaction) =>
      transaction.row<{ revision: number }>(readRevision),
    );
    return Number(row?.revision ?? 0);
  }

  async save(changes: readonly FollowedSourceChange[]): Promise<readonly SourceName[]> {
    if (changes.length === 0) return [];
    return inTransaction(this.database, (transaction) => saveFollowedIn(transaction, changes));
  }
}

/** `FollowedSources.save` in the caller's transaction. Returns the names of the changes that affected no row. */
export async function saveFollowedIn(
  transaction: Transaction,
  changes: readonly FollowedSourceChange[],
): Promise<readonly SourceName[]> {
  // One writer at a time, or two new entries could have one target unnoticed.
  transaction.send('LOCK TABLE followed_sources IN SHARE ROW EXCLUSIVE MODE');
  const written = await Promise.all(
    changes.map(async (change) => {
      const { sql, values } = writeOf(change);
      return transaction.run(numbered(sql), ...values);
    }),
  );
  const missed = changes.filter((_, index) => written[index] === 0);
  if (missed.length < changes.length) transaction.send(raiseRevision);
  return missed.map(({ next }) => next.source);
}
