import type { SourceName } from '../../../domain/ids.js';
import { contentFields, identityFields } from '../../../domain/investment.js';
import { type CommittedChange, changesPerCall } from '../../committed-change.js';
import { columnsToWrite, identityColumns, recordColumns } from '../../record-columns.js';
import type { Commit } from './commit.js';
import type { Prepare, Prepared } from './prepared.js';
import { seen } from './statements.js';

/*
 * Publishes a re-listing with set-based statements: first a plan with one row per change, then history, change feed,
 * rows and identities from the plan. Nothing is compared or written twice. No record passes through JavaScript except for
 * notices; of an erased person only the id does, for the receipt.
 *
 * The plan is a temporary table of this connection. It contains row numbers and field names, never values. It is dropped
 * at the end, and a rollback removes it too.
 */
export function swapIn(commit: Commit, { removesUnseen }: { readonly removesUnseen: boolean }): void {
  const { source, statements } = commit;
  const { raw } = statements;
  raw.exec(createPlan);
  if (removesUnseen) raw.prepare(planRemovals).run(source.no, source.no);
  raw.prepare(planStaged).run(source.no);
  applyPlan(commit);
}

/** Deletes the rows awaiting deletion, after a person accepted it. */
export function removeAwaiting(commit: Commit): void {
  const { raw } = commit.statements;
  raw.exec(createPlan);
  raw.prepare(planAwaiting).run(commit.source.no);
  applyPlan(commit);
}

function applyPlan(commit: Commit): void {
  const { source, at, statements } = commit;
  const { raw } = statements;
  const prepare: Prepare = (sql) => raw.prepare(sql);
  const counts = { added: 0, changed: 0, removed: 0 };
  for (const { kind, rows } of prepare<[], { kind: keyof typeof counts; rows: number }>(countPlan).all())
    counts[kind] = rows;
  const total = counts.added + counts.changed + counts.removed;
  const seq = commit.reserve(total);
  prepare(numberAdded).run();
  const every = { source_no: source.no, at, seq };
  prepare(archive).run({ at });
  prepare(announce).run(every);
  if (commit.wantsNotices) collectNotices(commit, prepare(changesOfPlan), seq, total);
  for (const id of prepare<[], string>(erasedIds).pluck().all()) commit.absent(id);
  prepare(eraseUnknown).run(source.no);
  const set = changedColumns(prepare<[], string>(fieldsOfPlan).pluck().all());
  prepare(deletePersons).run();
  prepare(removeRows).run();
  for (let last = 0; last < total; last += rowsPerUpdate)
    prepare(replaceRows(set)).run({ at, seq, after: last, through: last + rowsPerUpdate });
  prepare(insertRows).run(every);
  prepare(insertPersons).run();
  raw.exec('DROP TABLE temp.swap');
  commit.count(counts);
}

/** Reads changes in slices, because a connection cannot write while it iterates over rows. */
function collectNotices(
  commit: Commit,
  slice: Prepared<[object], PlannedChange>,
  seq: number,
  total: number,
): void {
  const { at, source } = commit;
  for (let last = 0; last < total; last += changesPerCall)
    for (const change of slice.all({ seq, after: last, through: last + changesPerCall }))
      commit.collectNotice({
        ...change,
        source: source.name as SourceName,
        at,
        origin: 'listing',
        fields: JSON.parse(change.fields),
      });
}

/** Limits memory: UPDATE FROM collects all new values before it writes the first row. */
const rowsPerUpdate = 10_000;

interface PlannedChange extends Omit<CommittedChange, 'fields' | 'source' | 'at' | 'origin'> {
  readonly fields: string;
}

const record = recordColumns.join(', ');
const of = (table: string, columns: readonly string[]) =>
  columns.map((name) => `${table}.${name}`).join(', ');

/** `n` is the position in the feed; `row_no` is null for a new record until `numberAdded`, `stage_no` for a removed one. */
const createPlan = `
  CREATE TEMP TABLE swap (
    n INTEGER PRIMARY KEY, kind TEXT NOT NULL, row_no INTEGER, stage_no INTEGER, fields TEXT NOT NULL, person INTEGER NOT NULL
  )`;

const planRemovals = `
  INSERT INTO temp.swap (kind, row_no, fields, person)
  SELECT 'removed', row_no, '[]', 1 FROM investment_rows
  WHERE source_no = ? AND row_no NOT IN (${seen}) ORDER BY row_no`;

const planAwaiting = `
  INSERT INTO temp.swap (kind, row_no, fields, person)
  SELECT 'removed', row_no, '[]', 1 FROM awaiting_deletion_rows WHERE source_no = ? ORDER BY row_no`;

const differing = (name: string, held: string, staged: string) =>
  `CASE WHEN ${held} IS NOT ${staged} THEN ',"${name}"' ELSE '' END`;
const contentDiffers = contentFields.map((name) => differing(name, `h.${name}`, `t.${name}`)).join(' || ');
const stagedPerson = (name: string) =>
  name === 'email_hidden' ? `coalesce(t.identity ->> 'email_hidden', 0)` : `t.identity ->> '${name}'`;
const personDiffers = identityFields
  .map((name) =>
    differing(
      `identity.${name}`,
      name === 'email_hidden' ? 'coalesce(p.email_hidden, 0)' : `p.${name}`,
      stagedPerson(name),
    ),
  )
  .join(' || ');

/** The SQL equivalent of `compare` in plan-page.ts; swap.test.ts checks that both agree. */
const planStaged = `
  INSERT INTO temp.swap (kind, row_no, stage_no, fields, person)
  SELECT CASE WHEN row_no IS NULL THEN 'added' ELSE 'changed' END, row_no, stage_no,
         CASE WHEN row_no IS NULL THEN '[]' ELSE '[' || ltrim(content || person, ',') || ']' END,
         row_no IS NULL OR person <> '' OR other
  FROM (
    SELECT t.stage_no, t.row_no, ${contentDiffers} AS content, ${personDiffers} AS person,
           (p.row_no IS NULL) <> (t.identity IS NULL) AS other
    FROM staged_rows t NOT INDEXED
    LEFT JOIN investment_rows h ON h.row_no = t.row_no
    LEFT JOIN identity_rows p ON p.row_no = t.row_no
    WHERE t.source_no = ? ORDER BY t.stage_no
  )
  WHERE row_no IS NULL OR content <> '' OR person <> '' OR other`;

const countPlan = 'SELECT kind, count(*) AS rows FROM temp.swap GROUP BY kind';

const numberAdded = `
  UPDATE temp.swap SET row_no = n + (SELECT coalesce(max(row_no), 0) FROM investment_rows) WHERE kind = 'added'`;

/** Unknown fields may contain personal data: not archived when a record is removed. */
const archived = (name: string) =>
  name === 'extra' ? `CASE w.kind WHEN 'removed' THEN NULL ELSE h.extra END` : `h.${name}`;

const archive = `
  INSERT INTO history_rows (source_no, id, ${record}, valid_from, change_seq, valid_to, ended_by)
  SELECT h.source_no, h.id, ${recordColumns.map(archived).join(', ')}, coalesce(h.valid_from, s.listed_at),
         coalesce(h.change_seq, s.listed_seq), :at, CASE w.kind WHEN 'removed' THEN 'relist' ELSE 'update' END
  FROM temp.swap w CROSS JOIN investment_rows h ON h.row_no = w.row_no JOIN sources s ON s.no = h.source_no
  WHERE w.kind <> 'added' ORDER BY w.n`;

/** A removal has no reason: it is only known that the listing did not name the record. */
const announce = `
  INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at)
  SELECT :seq + w.n, :source_no, coalesce(t.id, h.id), w.kind, w.fields, t.reason, :at
  FROM temp.swap w LEFT JOIN staged_rows t ON t.stage_no = w.stage_no
  LEFT JOIN investment_rows h ON h.row_no = w.row_no ORDER BY w.n`;

/** The value after the change; for a removed record, the last stored value. */
const latest = (name: string) => `CASE WHEN t.stage_no IS NULL THEN h.${name} ELSE t.${name} END`;

const changesOfPlan = `
  SELECT :seq + w.n AS seq, coalesce(t.id, h.id) AS id, w.kind, w.fields, t.reason,
         h.status AS statusBefore, t.status AS statusAfter, h.group_label AS groupBefore, t.group_label AS groupAfter,
         h.committed_cents AS committedCentsBefore, t.committed_cents AS committedCentsAfter,
         ${latest('company_id')} AS companyId, ${latest('offering_id')} AS offeringId,
         ${latest('currency')} AS currency, t.converted_from AS convertedFrom
  FROM temp.swap w LEFT JOIN staged_rows t ON t.stage_no = w.stage_no
  LEFT JOIN investment_rows h ON h.row_no = w.row_no
  WHERE w.n > :after AND w.n <= :through ORDER BY w.n`;

const fieldsOfPlan = `SELECT DISTINCT fields FROM temp.swap WHERE kind = 'changed'`;

/** The columns that differ in at least one row. */
const changedColumns = (fields: readonly string[]) =>
  columnsToWrite(new Set(fields.flatMap((names) => JSON.parse(names) as string[])));

const replaceRows = (columns: readonly string[]) => `
  UPDATE investment_rows SET valid_from = :at, change_seq = :seq + w.n, ${columns.map((name) => `${name} = t.${name}`).join(', ')}
  FROM temp.swap w JOIN staged_rows t ON t.stage_no = w.stage_no
  WHERE investment_rows.row_no = w.row_no AND w.kind = 'changed' AND w.n > :after AND w.n <= :through`;

const erasedIds = `
  SELECT h.id FROM temp.swap w CROSS JOIN investment_rows h ON h.row_no = w.row_no
  WHERE w.kind = 'removed' AND (
    h.extra IS NOT NULL OR EXISTS (SELECT 1 FROM identity_rows p WHERE p.row_no = w.row_no)
    OR EXISTS (SELECT 1 FROM history_rows v WHERE v.id = h.id AND v.source_no = h.source_no AND v.extra IS NOT NULL)
  ) ORDER BY w.n`;

const eraseUnknown = `
  UPDATE history_rows SET extra = NULL
  WHERE extra IS NOT NULL AND source_no = ? AND id IN (
    SELECT h.id FROM temp.swap w CROSS JOIN investment_rows h ON h.row_no = w.row_no WHERE w.kind = 'removed')`;

const deletePersons = `DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM temp.swap WHERE person AND kind <> 'added')`;
const removeRows = `DELETE FROM investment_rows WHERE row_no IN (SELECT row_no FROM temp.swap WHERE kind = 'removed')`;

const insertRows = `
  INSERT INTO investment_rows (row_no, source_no, id, valid_from, change_seq, ${record})
  SELECT w.row_no, :source_no, t.id, :at, :seq + w.n, ${of('t', recordColumns)}
  FROM temp.swap w CROSS JOIN staged_rows t ON t.stage_no = w.stage_no WHERE w.kind = 'added' ORDER BY w.n`;

/** Replaces identities, never merges them: a field missing from the new identity is deleted. */
const insertPersons = `
  INSERT INTO identity_rows (row_no, ${identityColumns.join(', ')})
  SELECT w.row_no, ${identityColumns.map(stagedPerson).join(', ')}
  FROM temp.swap w CROSS JOIN staged_rows t ON t.stage_no = w.stage_no
  WHERE w.person AND t.identity IS NOT NULL ORDER BY w.n`;
