import { recordColumns } from '../../../src/store/record-columns.js';

/*
 * The superseded versions that a generator writes and their changes, as SQL that both databases understand: each version of a
 * record differs in `committed_cents`, and has its entry in the change feed. The rows come in the order of the change feed, a
 * hundred to a commit time.
 */

/** The time between the first listing and now over which the changes are spread. */
export const spreadDays = 360;

export interface VersionPlan {
  /** The last change before these. */
  readonly last: number;
  readonly rows: number;
  /** How many versions each record gets. */
  readonly each: number;
  /** The time of the first change. */
  readonly begun: string;
  /** The column that numbers the records, from 1. */
  readonly row: string;
  /** Returns SQL for this time and as many seconds more, as the mirror writes times. */
  later(begun: string, seconds: string): string;
}

export const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

/** The number of the change that ended version `version` of a row. */
export const numberOf = (version: number, { last, rows, row }: VersionPlan) =>
  `${last + (version - 1) * rows} + ${row}`;

/** When that was. */
export function timeOf(version: number, { rows, each, begun, row, later }: VersionPlan): string {
  const share = `(${version - 1} + ${row} / 100 * 100.0 / ${rows}) / ${each}`;
  return later(begun, `(${share} * ${spreadDays * 86_000})`);
}

/** The statements that write one version of every record in `listed`. */
export function versionSql(version: number, plan: VersionPlan, listed: string, order: string): string {
  const [from, seq] =
    version === 1
      ? ['s.listed_at', 's.listed_seq']
      : [timeOf(version - 1, plan), numberOf(version - 1, plan)];
  const values = recordColumns.map((column) =>
    column === 'committed_cents'
      ? `r.committed_cents - ${plan.each - version + 1}`
      : column === 'reason'
        ? version === 1
          ? 'NULL'
          : "'changed'"
        : `r.${column}`,
  );
  return `
    INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at)
    SELECT ${numberOf(version, plan)}, source_no, id, 'changed', '["committed_cents"]', 'changed', ${timeOf(version, plan)}
    FROM ${listed} ${order};
    INSERT INTO history_rows (source_no, id, ${recordColumns.join(', ')}, valid_from, change_seq, valid_to, ended_by)
    SELECT r.source_no, r.id, ${values.join(', ')}, ${from}, ${seq}, ${timeOf(version, plan)}, 'update'
    FROM ${listed} r CROSS JOIN sources s WHERE s.no = r.source_no ${order};`;
}
