import type { Instant } from '../domain/instant.js';
import type { Connection } from './connection.js';

export interface PausedSource {
  readonly source: string;
  readonly paused_at: Instant;
}

/** The sources that an operator has paused, by name. Every process that syncs a source obeys. */
export class Pauses {
  constructor(private readonly connection: Connection) {}

  async list(): Promise<readonly PausedSource[]> {
    const rows = await this.connection.run((db) =>
      db.selectFrom('pauses').selectAll().orderBy('source').execute(),
    );
    return rows.map(({ source, paused_at }) => ({ source, paused_at: paused_at as Instant }));
  }

  /** Pauses sources; those that are paused already keep their time. */
  async pause(sources: readonly string[], at: Instant): Promise<void> {
    for (const some of inChunks(sources))
      await this.connection.run((db) =>
        db
          .insertInto('pauses')
          .values(some.map((source) => ({ source, paused_at: at })))
          .onConflict((conflict) => conflict.column('source').doNothing())
          .execute(),
      );
  }

  /** Ends the pause of these sources, or of all. Returns the names of those that were paused. */
  async resume(sources: readonly string[] | null): Promise<readonly string[]> {
    const resumed: string[] = [];
    for (const some of sources === null ? [null] : inChunks(sources)) {
      const rows = await this.connection.run((db) =>
        db
          .deleteFrom('pauses')
          .$if(some !== null, (statement) => statement.where('source', 'in', some ?? []))
          .returning('source')
          .execute(),
      );
      resumed.push(...rows.map(({ source }) => source));
    }
    return resumed.sort();
  }
}

/** Both databases limit the values of a statement. */
const chunk = 1_000;

const inChunks = (sources: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(sources.length / chunk) }, (_, index) =>
    sources.slice(index * chunk, (index + 1) * chunk),
  );
