import type { SourceName } from '../../../domain/ids.js';
import { contentFields, identityFields } from '../../../domain/investment.js';
import { type CommittedChange, changesPerCall } from '../../committed-change.js';
import { identityColumns, recordColumns } from '../../record-columns.js';
import type { Commit } from './commit.js';
import { unseen } from './stage.js';

/*
 * Publishes a re-listing with set-based statements: first a plan with one row per change, then history, change feed,
 * rows and identities from the plan. Nothing is compared or written twice. No record passes through JavaScript except for
 * notices; of an erased person only the id does, for the receipt.
 *
 * The plan is a temporary table of this transaction. It contains row numbers and field names, never values.
 */
export async function swapIn(
  commit: Commit,
  { removesUnseen }: { readonly removesUnseen: boolean },
): Promise<void> {
  const { source, transaction } = commit;
  transaction.send(createPlan);
  if (removesUnseen) transaction.send(planRemovals, source.no);
  transaction.send(planStaged, source.no);
  await applyPlan(commit);
}

/** Deletes the rows awaiting deletion, after a person accepted it. */
export async function removeAwaiting(commit: Commit): Promise<void> {
  const { source, transaction } = commit;
  transaction.send(createPlan);
  transaction.send(planAwaiting, source.no);
  await applyPlan(commit);
}

async function applyPlan(commit: Commit): Promise<void> {
  const { source, at, transaction } = commit;
  transaction.send('ANALYZE swap');
  const counts = { added: 0, changed: 0, removed: 0 };
  for (const { kind, rows } of await transaction.rows<{ kind: keyof typeof counts; rows: number }>(countPlan))
    counts[kind] = rows;
  const total = counts.added + counts.changed + counts.removed;
  if (total > 0) {
    const seq = await commit.reserve(total);
    transaction.send(archive, at);
    transaction.send(announceAll, seq, source.no, at);
    if (commit.wantsNotices) await collectNotices(commit, seq, total);
    for (const { id } of await transaction.rows<{ id: string }>(erasedIds)) commit.absent(id);
    transaction.send(eraseUnknown, source.no);
    transaction.send(deletePersons);
    transaction.send(removeRows);
    transaction.send(replaceRows, at, seq);
    transaction.send(insertRows, source.no, at, seq);
    transaction.send(insertPersons, source.no);
  }
  transaction.send('DROP TABLE swap');
  commit.count(counts);
}

async function collectNotices(commit: Commit, seq: number, total: number): Promise<void> {
  const { at, source, transaction } = commit;
  for (let last = 0; last < total; last += changesPerCall)
    for (const { fields, ...change } of await transaction.rows<PlannedChange>(
      ...[changesOfPlan, seq, last, last + changesPerCall],
    ))
      await commit.collectNotice({
        ...change,
        source: source.name as SourceName,
        at,
        origin: 'listing',
        fields: JSON.parse(fields),
      });
}

interface PlannedChange extends Omit<CommittedChange, 'fields' | 'source' | 'at' | 'origin'> {
  readonly fields: string;
}

const record = recordColumns.join(', ');
const of = (table: string, columns: readonly string[]) =>
  columns.map((name) => `${table}.${name}`).join(', ');

/** `n` is the position in the change feed; `row_no` is null for a new record, `stage_no` for a removed one. */
const createPlan = `
  CREATE TEMP TABLE swap (
    n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, kind text NOT NULL, row_no bigint, stage_no bigint,
    fields text NOT NULL, person boolean NOT NULL
  )`;

const planRemovals = `
  INSERT INTO swap (kind, row_no, fields, person)
  SELECT 'removed', r.row_no, '[]', true ${unseen} ORDER BY r.row_no`;

const planAwaiting = `
  INSERT INTO swap (kind, row_no, fields, person)
  SELECT 'removed', row_no, '[]', true FROM awaiting_deletion_rows WHERE source_no = $1 ORDER BY row_no`;

const differing = (name: string, held: string, staged: string) =>
  `CASE WHEN ${held} IS DISTINCT FROM ${staged} THEN ',"${name}"' ELSE '' END`;
const contentDiffers = contentFields.map((name) => differing(name, `h.${name}`, `t.${name}`)).join(' || ');
/** Staged identities are stored as JSON. */
const stagedPerson = (name: string) =>
  name === 'email_hidden'
    ? `coalesce((t.identity::jsonb ->> 'email_hidden')::boolean::int::smallint, 0)`
    : `(t.identity::jsonb ->> '${name}')`;
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
  INSERT INTO swap (kind, row_no, stage_no, fields, person)
  SELECT CASE WHEN row_no IS NULL THEN 'added' ELSE 'changed' END, row_no, stage_no,
         CASE WHEN row_no IS NULL THEN '[]' ELSE '[' || ltrim(content || person, ',') || ']' END,
         row_no IS NULL OR person <> '' OR other
  FROM (
    SELECT t.stage_no, t.row_no, ${contentDiffers} AS content, ${personDiffers} AS person,
           (p.row_no IS NULL) <> (t.identity IS NULL) AS other
    FROM staged_rows t
    LEFT JOIN investment_rows h ON h.row_no = t.row_no
    LEFT JOIN identity_rows p ON p.row_no = t.row_no
    WHERE t.source_no = $1
  ) AS compared
  WHERE row_no IS NULL OR content <> '' OR person <> '' OR other
  ORDER BY stage_no`;

const countPlan = 'SELECT kind, count(*) AS rows FROM swap GROUP BY kind';

/** Unknown fields may contain personal data: not archived when a record is removed. */
const archived = (name: string) =>
  name === 'extra' ? `CASE w.kind WHEN 'removed' THEN NULL ELSE h.extra END` : `h.${name}`;

const archive = `
  INSERT INTO history_rows (source_no, id, ${record}, valid_from, change_seq, valid_to, ended_by)
  SELECT h.source_no, h.id, ${recordColumns.map(archived).join(', ')}, coalesce(h.valid_from, s.listed_at),
         coalesce(h.change_seq, s.listed_seq), $1, CASE w.kind WHEN 'removed' THEN 'relist' ELSE 'update' END
  FROM swap w JOIN investment_rows h ON h.row_no = w.row_no JOIN sources s ON s.no = h.source_no
  WHERE w.kind <> 'added' ORDER BY w.n`;

/** A removal has no reason: it is only known that the listing did not name the record. */
const announceAll = `
  INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at)
  SELECT $1::bigint + w.n, $2, coalesce(t.id, h.id), w.kind, w.fields, t.reason, $3
  FROM swap w LEFT JOIN staged_rows t ON t.stage_no = w.stage_no
  LEFT JOIN investment_rows h ON h.row_no = w.row_no ORDER BY w.n`;

/** The value after the change; for a removed record, the last stored value. */
const latest = (name: string) => `CASE WHEN t.stage_no IS NULL THEN h.${name} ELSE t.${name} END`;

const changesOfPlan = `
  SELECT $1::bigint + w.n AS seq, coalesce(t.id, h.id) AS id, w.kind, w.fields, t.reason,
         h.status AS "statusBefore", t.status AS "statusAfter",
         h.group_label AS "groupBefore", t.group_label AS "groupAfter",
         h.committed_cents AS "committedCentsBefore", t.committed_cents AS "committedCentsAfter",
         ${latest('company_id')} AS "companyId", ${latest('offering_id')} AS "offeringId",
         ${latest('currency')} AS currency, t.converted_from AS "convertedFrom"
  FROM swap w LEFT JOIN staged_rows t ON t.stage_no = w.stage_no
  LEFT JOIN investment_rows h ON h.row_no = w.row_no
  WHERE w.n > $2 AND w.n <= $3 ORDER BY w.n`;

const erasedIds = `
  SELECT h.id FROM swap w JOIN investment_rows h ON h.row_no = w.row_no
  WHERE w.kind = 'removed' AND (
    h.extra IS NOT NULL OR EXISTS (SELECT 1 FROM identity_rows p WHERE p.row_no = w.row_no)
    OR EXISTS (SELECT 1 FROM history_rows v WHERE v.id = h.id AND v.source_no = h.source_no AND v.extra IS NOT NULL)
  ) ORDER BY w.n`;

const eraseUnknown = `
  UPDATE history_rows SET extra = NULL
  WHERE extra IS NOT NULL AND source_no = $1 AND id IN (
    SELECT h.id FROM swap w JOIN investment_rows h ON h.row_no = w.row_no WHERE w.kind = 'removed')`;

const deletePersons = `
  DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM swap WHERE person AND kind <> 'added')`;
const removeRows = `DELETE FROM investment_rows WHERE row_no IN (SELECT row_no FROM swap WHERE kind = 'removed')`;

/** Sets every column. Naming an unchanged one causes no index write, because PostgreSQL compares the values. */
const replaceRows = `
  UPDATE investment_rows SET valid_from = $1, change_seq = $2::bigint + w.n,
         ${recordColumns.map((name) => `${name} = t.${name}`).join(', ')}
  FROM swap w JOIN staged_rows t ON t.stage_no = w.stage_no
  WHERE investment_rows.row_no = w.row_no AND w.kind = 'changed'`;

const insertRows = `
  INSERT INTO investment_rows (source_no, id, valid_from, change_seq, ${record})
  SELECT $1, t.id, $2, $3::bigint + w.n, ${of('t', recordColumns)}
  FROM swap w JOIN staged_rows t ON t.stage_no = w.stage_no WHERE w.kind = 'added' ORDER BY w.n`;

/** Replaces identities, never merges them. Runs after `insertRows`, so new records have their row number. */
const insertPersons = `
  INSERT INTO identity_rows (row_no, ${identityColumns.join(', ')})
  SELECT coalesce(w.row_no, h.row_no), ${identityColumns.map(stagedPerson).join(', ')}
  FROM swap w JOIN staged_rows t ON t.stage_no = w.stage_no
  LEFT JOIN investment_rows h ON w.row_no IS NULL AND h.source_no = $1 AND h.id = t.id
  WHERE w.person AND t.identity IS NOT NULL ORDER BY w.n`;
