import {
  type LeaseSeen,
  type Look,
  leasesQuery,
  type Reader,
  type RowSeen,
  rowsQuery,
  type SourceSeen,
  sourcesQuery,
} from '../reader.js';
import type { Looks, Session } from './looks.js';

const keyQuery = `SELECT (SELECT last_seq FROM feed_counter) || '/' ||
  coalesce((SELECT string_agg(state || generation || coalesce(cursor, '') || coalesce(listed_at, ''), ',' ORDER BY no)
            FROM sources), '') || '/' ||
  coalesce((SELECT string_agg(coalesce(since, '') || coalesce(reached, ''), ',' ORDER BY source_no) FROM sweeps), '') || '/' ||
  (SELECT count(*) || '/' || coalesce(sum(change_seq), 0) FROM investment_rows) || '/' ||
  (SELECT count(*) FROM identities) || '/' || (SELECT count(*) FROM awaiting_deletion) AS key`;

/**
 * A writer needs this thread to continue, but the thread blocks during a look, so a look waits for no lock.
 */
const settings = [
  'SET lock_timeout = 500',
  'SET default_transaction_isolation = "repeatable read"',
  'SET default_transaction_read_only = on',
];

export class PostgresReader implements Reader {
  readonly #session: Session;

  constructor(looks: Looks, url: string) {
    this.#session = looks.open(url);
    this.#session.run(...settings);
  }

  look(): Look {
    const [sources, rows, keys] = this.#session.run(sourcesQuery, `${rowsQuery} ORDER BY id`, keyQuery) as [
      readonly SourceSeen[],
      readonly (RowSeen & { readonly source: string })[],
      readonly { readonly key: string }[],
    ];
    const bySource = new Map<string, RowSeen[]>(sources.map(({ name }) => [name, []]));
    for (const { source, id, text, awaiting } of rows) bySource.get(source)?.push({ id, text, awaiting });
    return { sources, rows: bySource, key: keys[0]?.key ?? '' };
  }

  key(): string {
    return this.#session.run(keyQuery).map(([row]) => (row as { key: string }).key)[0] ?? '';
  }

  leases(): readonly LeaseSeen[] {
    return this.rows(leasesQuery);
  }

  rows<Row>(sql: string): readonly Row[] {
    return this.#session.run(sql)[0] as readonly Row[];
  }

  hold(): void {
    this.#session.run('BEGIN', 'SELECT 1 FROM sources LIMIT 1');
  }

  close(): void {
    this.#session.close();
  }
}
