import type { SourceName } from '../domain/ids.js';
import { contentFields, identityFields } from '../domain/investment.js';
import type { CommittedChange } from './committed-change.js';
import { recordColumns } from './record-columns.js';

/*
 * The statements that publish a re-listing, written once; `SwapWords` supplies the SQL that differs between the two
 * databases. First a plan with one row per change, then
 * history, change feed, rows and identities from the plan. Nothing is compared or written twice.
 *
 * The plan is the temporary table `swap`. It contains row numbers and field names, never values: `n` is the position in
 * the change feed, `row_no` is null for a new record, `stage_no` for a removed one. Records that were only published again
 * come last: they get a new version, but no number in the change feed. Bound values are `:at`, `:seq`,
 * `:source_no`, `:after` and `:through`.
 */

/** The SQL that differs between the two databases. */
export interface SwapWords {
  /** Whether two values differ, NULL being a value like any other. */
  readonly distinct: string;
  /** Joins in the order in which the tables are named. */
  readonly join: string;
  /** The staged rows as `t`, read in their own order. */
  readonly staged: string;
  /** A text field of the staged identity, which is JSON. */
  readonly person: (name: string) => string;
  /** The staged flag `email_hidden` as 1 or 0. */
  readonly emailHidden: string;
  /** See `separateUnknownKeys`. */
  readonly stripUnknownKeys: (table: string, condition: string) => string;
}

const record = recordColumns.join(', ');

/** Selects a field of the staged identity as its column stores it. */
export const stagedPerson = ({ person, emailHidden }: SwapWords, name: string): string =>
  name === 'email_hidden' ? emailHidden : person(name);

/** Unknown fields may contain personal data: not archived when a record is removed. */
const archived = (name: string) =>
  name === 'extra' ? `CASE w.kind WHEN 'removed' THEN NULL ELSE h.extra END` : `h.${name}`;

/** The value after the change; for a removed record, the last stored value. */
const latest = (name: string) => `CASE WHEN t.stage_no IS NULL THEN h.${name} ELSE t.${name} END`;

export function swapStatements(words: SwapWords) {
  const { distinct, join, staged } = words;
  const differing = (name: string, held: string, other: string) =>
    `CASE WHEN ${held} ${distinct} ${other} THEN ',"${name}"' ELSE '' END`;
  const contentDiffers = contentFields.map((name) => differing(name, `h.${name}`, `t.${name}`));
  const personDiffers = identityFields.map((name) =>
    differing(
      `identity.${name}`,
      name === 'email_hidden' ? 'coalesce(p.email_hidden, 0)' : `p.${name}`,
      stagedPerson(words, name),
    ),
  );
  const bothSides = `swap w LEFT JOIN staged_rows t ON t.stage_no = w.stage_no
    LEFT JOIN investment_rows h ON h.row_no = w.row_no`;
  return {
    planAwaiting: `
      INSERT INTO swap (kind, row_no, fields, person)
      SELECT 'removed', row_no, '[]', true FROM awaiting_deletion_rows WHERE source_no = :source_no ORDER BY row_no`,
    /** The SQL equivalent of `differenceOf` and `publicationDifference`; swap.test.ts checks that they agree. */
    planStaged: `
      INSERT INTO swap (kind, row_no, stage_no, fields, person)
      SELECT CASE WHEN row_no IS NULL THEN 'added' WHEN differs THEN 'changed' ELSE 'republished' END, row_no, stage_no,
             CASE WHEN row_no IS NULL THEN '[]' ELSE '[' || ltrim(content || person, ',') || ']' END,
             row_no IS NULL OR person <> '' OR other
      FROM (
        SELECT stage_no, row_no, content, person, other, republished,
               content <> '' OR person <> '' OR other AS differs
        FROM (
        SELECT t.stage_no, t.row_no, ${contentDiffers.join(' || ')} AS content, ${personDiffers.join(' || ')} AS person,
               (p.row_no IS NULL) <> (t.identity IS NULL) AS other,
               h.observed_at <> t.observed_at OR coalesce(h.reason <> t.reason, false) AS republished
        FROM ${staged}
        LEFT JOIN investment_rows h ON h.row_no = t.row_no
        LEFT JOIN identity_rows p ON p.row_no = t.row_no
        WHERE t.source_no = :source_no
        ) AS compared
      ) AS judged
      WHERE row_no IS NULL OR differs OR republished
      ORDER BY row_no IS NOT NULL AND NOT differs, stage_no`,
    /** Before anything is archived: what is removed leaves no undocumented keys. */
    stripRemoved: words.stripUnknownKeys(
      'investment_rows',
      `row_no IN (SELECT row_no FROM swap WHERE kind = 'removed')`,
    ),
    stripHistoryOfRemoved: words.stripUnknownKeys(
      'history_rows',
      `source_no = :source_no AND id IN (
        SELECT h.id FROM swap w ${join} investment_rows h ON h.row_no = w.row_no WHERE w.kind = 'removed')`,
    ),
    countPlan: 'SELECT kind, count(*) AS rows FROM swap GROUP BY kind',
    archive: `
      INSERT INTO history_rows (source_no, id, ${record}, valid_from, change_seq, valid_to, ended_by)
      SELECT h.source_no, h.id, ${recordColumns.map(archived).join(', ')}, coalesce(h.valid_from, s.listed_at),
             coalesce(h.change_seq, s.listed_seq), :at, CASE w.kind WHEN 'removed' THEN 'relist' ELSE 'update' END
      FROM swap w ${join} investment_rows h ON h.row_no = w.row_no JOIN sources s ON s.no = h.source_no
      WHERE w.kind <> 'added' ORDER BY w.n`,
    /** A removal has no reason: it is only known that the listing did not name the record. */
    announce: `
      INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at)
      SELECT :seq + w.n, :source_no, coalesce(t.id, h.id), w.kind, w.fields, t.reason, :at
      FROM ${bothSides} WHERE w.kind <> 'republished' ORDER BY w.n`,
    changesOfPlan: `
      SELECT :seq + w.n AS seq, coalesce(t.id, h.id) AS id, w.kind, w.fields, t.reason,
             h.status AS "statusBefore", t.status AS "statusAfter",
             h.group_label AS "groupBefore", t.group_label AS "groupAfter",
             h.committed_cents AS "committedCentsBefore", t.committed_cents AS "committedCentsAfter",
             ${latest('company_id')} AS "companyId", ${latest('offering_id')} AS "offeringId",
             h.currency AS "currencyBefore", ${latest('currency')} AS currency, t.converted_from AS "convertedFrom"
      FROM ${bothSides} WHERE w.n > :after AND w.n <= :through ORDER BY w.n`,
    erasedIds: `
      SELECT h.id FROM swap w ${join} investment_rows h ON h.row_no = w.row_no
      WHERE w.kind = 'removed' AND (
        h.extra IS NOT NULL OR EXISTS (SELECT 1 FROM identity_rows p WHERE p.row_no = w.row_no)
        OR EXISTS (SELECT 1 FROM history_rows v WHERE v.id = h.id AND v.source_no = h.source_no AND v.extra IS NOT NULL)
      ) ORDER BY w.n`,
    eraseUnknown: `
      UPDATE history_rows SET extra = NULL
      WHERE extra IS NOT NULL AND source_no = :source_no AND id IN (
        SELECT h.id FROM swap w ${join} investment_rows h ON h.row_no = w.row_no WHERE w.kind = 'removed')`,
    deletePersons: `
      DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM swap WHERE person AND kind <> 'added')`,
    removeRows: `DELETE FROM investment_rows WHERE row_no IN (SELECT row_no FROM swap WHERE kind = 'removed')`,
  } as const;
}

export interface SwapCounts {
  added: number;
  changed: number;
  removed: number;
}

export interface PlannedRows {
  readonly kind: keyof SwapCounts | 'republished';
  readonly rows: number;
}

export interface CountedPlan {
  readonly counts: SwapCounts;
  /** The number of changes in the feed. */
  readonly changes: number;
  /** The number of rows of the plan: the changes, then the records that were only published again. */
  readonly rows: number;
}

/** Returns the result of `countPlan`. */
export function countsOf(planned: readonly PlannedRows[]): CountedPlan {
  const { republished, ...counts } = { added: 0, changed: 0, removed: 0, republished: 0, ...byKind(planned) };
  const changes = counts.added + counts.changed + counts.removed;
  return { counts, changes, rows: changes + republished };
}

const byKind = (planned: readonly PlannedRows[]) =>
  Object.fromEntries(planned.map(({ kind, rows }) => [kind, rows]));

/** A row of `changesOfPlan`. */
export interface PlannedChange extends Omit<CommittedChange, 'fields' | 'source' | 'at' | 'origin'> {
  readonly fields: string;
}

export function committedChange(
  { fields, ...change }: PlannedChange,
  source: string,
  at: CommittedChange['at'],
): CommittedChange {
  return {
    ...change,
    source: source as SourceName,
    at,
    origin: 'listing',
    fields: JSON.parse(fields) as string[],
  };
}
