import type { Selectable } from 'kysely';
import type { SourceName } from '../../../domain/ids.js';
import type { FollowedSource, FollowedSourceChange, FollowedSources } from '../../../installations/ports.js';
import { followedFrom, listFollowed, raiseRevision, readRevision, writeOf } from '../../followed-sources.js';
import type { FollowedSourcesTable } from '../../operating-schema.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';
import { preparingOnce } from './prepared.js';
import { inTransaction } from './transaction.js';

/** The registry of followed sources in SQLite. Shares the connection of the mirror's writes. */
export class SqliteFollowedSources implements FollowedSources {
  constructor(private readonly database: SqliteDatabase) {}

  async list(): Promise<readonly FollowedSource[]> {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () =>
      raw.prepare<[], Selectable<FollowedSourcesTable>>(listFollowed).all().map(followedFrom),
    );
  }

  async revision(): Promise<number> {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () => Number(raw.prepare<[]>(readRevision).pluck().get()));
  }

  async save(changes: readonly FollowedSourceChange[]): Promise<readonly SourceName[]> {
    if (changes.length === 0) return [];
    const { raw, file } = this.database;
    return withSqliteFaults(file, () =>
      inTransaction(raw, () => {
        const prepare = preparingOnce(raw);
        const missed = changes.filter((change) => {
          const { sql, values } = writeOf(change);
          return prepare(sql).run(...values).changes === 0;
        });
        if (missed.length < changes.length) raw.exec(raiseRevision);
        return missed.map(({ next }) => next.source);
      }),
    );
  }
}
