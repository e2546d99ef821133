import Sqlite from 'better-sqlite3';
import {
  type LeaseSeen,
  type Look,
  leasesQuery,
  type Reader,
  type RowSeen,
  rowsQuery,
  type SourceSeen,
  sourcesQuery,
} from './reader.js';

export class SqliteReader implements Reader {
  readonly #raw: Sqlite.Database;
  readonly #sources: Sqlite.Statement<[], SourceSeen>;
  readonly #rows: Sqlite.Statement<[string], RowSeen>;
  readonly #key: Sqlite.Statement<[], string>;
  readonly #leases: Sqlite.Statement<[], LeaseSeen>;
  readonly #others = new Map<string, Sqlite.Statement<[], object>>();

  constructor(file: string) {
    this.#raw = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 0 });
    this.#sources = this.#raw.prepare(sourcesQuery);
    this.#rows = this.#raw.prepare(`${rowsQuery} WHERE source = ? ORDER BY id`);
    this.#leases = this.#raw.prepare(leasesQuery);
    this.#key = this.#raw
      .prepare<[], string>(
        `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'change_rows'), 0) || '/' ||
         coalesce((SELECT group_concat(state || generation || coalesce(cursor, '') || coalesce(listed_at, '')) FROM sources), '')
         || coalesce((SELECT group_concat(coalesce(since, '') || coalesce(reached, '')) FROM sweeps), '') || '/' ||
         (SELECT count(*) || '/' || total(change_seq) FROM investment_rows) || '/' || (SELECT count(*) FROM identity_rows) || '/' ||
         (SELECT count(*) FROM awaiting_deletion_rows)`,
      )
      .pluck();
  }

  key(): string {
    return this.#key.get() ?? '';
  }

  leases(): readonly LeaseSeen[] {
    return this.#leases.all();
  }

  rows<Row>(sql: string): readonly Row[] {
    const known = this.#others.get(sql) ?? this.#raw.prepare<[], object>(sql);
    this.#others.set(sql, known);
    return known.all() as Row[];
  }

  look(): Look {
    const sources = this.#sources.all();
    return {
      sources,
      rows: new Map(sources.map(({ name }) => [name, this.#rows.all(name)])),
      key: this.key(),
    };
  }

  hold(): void {
    this.#raw.exec('BEGIN');
  }

  close(): void {
    if (this.#raw.open) this.#raw.close();
  }
}
