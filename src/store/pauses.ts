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
    if (sources.length === 0) return;
    const rows = sources.map((source) => ({ source, paused_at: at }));
    await this.connection.run((db) =>
      db
        .insertInto('pauses')
        .values(rows)
        .onConflict((conflict) => conflict.column('source').doNothing())
        .execute(),
    );
  }

  /** Ends the pause of these sources, or of all. */
  async resume(sources: readonly string[] | null): Promise<void> {
    await this.connection.run((db) => {
      const all = db.deleteFrom('pauses');
      return (sources === null ? all : all.where('source', 'in', sources)).execute();
    });
  }
}
