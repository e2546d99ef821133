import { changesPerCall } from '../../committed-change.js';
import { identityColumns, recordColumns } from '../../record-columns.js';
import {
  committedChange,
  countsOf,
  type PlannedChange,
  type PlannedRows,
  type SwapWords,
  stagedPerson,
  swapStatements,
} from '../../swap-statements.js';
import type { Commit } from './commit.js';
import { unseen } from './stage.js';
import { stripUnknownKeys } from './unknown-keys.js';

/*
 * Publishes a re-listing with set-based statements: see swap-statements.ts. No record passes through JavaScript except
 * for notices; of an erased person only the id does, for the receipt. The plan belongs to the transaction.
 */
export async function swapIn(
  commit: Commit,
  { removesUnseen }: { readonly removesUnseen: boolean },
): Promise<void> {
  const { source, transaction } = commit;
  transaction.send(createPlan);
  if (removesUnseen) transaction.send(planRemovals, source.no);
  transaction.send(...bound(sql.planStaged, { source_no: source.no }));
  await applyPlan(commit);
}

/** Deletes the rows awaiting deletion, after a person accepted it. */
export async function removeAwaiting(commit: Commit): Promise<void> {
  const { source, transaction } = commit;
  transaction.send(createPlan);
  transaction.send(...bound(sql.planAwaiting, { source_no: source.no }));
  await applyPlan(commit);
}

async function applyPlan(commit: Commit): Promise<void> {
  const { source, at, transaction } = commit;
  transaction.send('ANALYZE swap');
  const { counts, changes, rows } = countsOf(await transaction.rows<PlannedRows>(sql.countPlan));
  if (rows > 0) {
    const seq = await commit.reserve(changes);
    const every = { source_no: source.no, at, seq };
    transaction.send(sql.stripRemoved);
    transaction.send(...bound(sql.stripHistoryOfRemoved, every));
    transaction.send(...bound(sql.archive, every));
    transaction.send(...bound(sql.announce, every));
    if (commit.wantsNotices) await collectNotices(commit, seq, changes);
    for (const { id } of await transaction.rows<{ id: string }>(sql.erasedIds)) commit.absent(id);
    transaction.send(...bound(sql.eraseUnknown, every));
    transaction.send(sql.deletePersons);
    transaction.send(sql.removeRows);
    transaction.send(...bound(replaceRows, every));
    transaction.send(...bound(insertRows, every));
    transaction.send(...bound(insertPersons, every));
  }
  transaction.send('DROP TABLE swap');
  commit.count(counts);
}

async function collectNotices(commit: Commit, seq: number, total: number): Promise<void> {
  const { at, source, transaction } = commit;
  for (let last = 0; last < total; last += changesPerCall) {
    const slice = { seq, after: last, through: Math.min(last + changesPerCall, total) };
    for (const change of await transaction.rows<PlannedChange>(...bound(sql.changesOfPlan, slice)))
      await commit.collectNotice(committedChange(change, source.name, at));
  }
}

/** Returns the text with `$1`, `$2` … for its named values, followed by these values. */
function bound(
  text: string,
  values: Readonly<Record<string, string | number>>,
): readonly [string, ...(string | number)[]] {
  const names: string[] = [];
  const numbered = text.replaceAll(/(?<!:):([a-z_]+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    const place = `$${names.indexOf(name) + 1}`;
    return name === 'seq' ? `${place}::bigint` : place;
  });
  return [numbered, ...names.map((name) => values[name] ?? '')];
}

const record = recordColumns.join(', ');

const words: SwapWords = {
  distinct: 'IS DISTINCT FROM',
  join: 'JOIN',
  staged: 'staged_rows t',
  person: (name) => `(t.identity::jsonb ->> '${name}')`,
  emailHidden: `coalesce((t.identity::jsonb ->> 'email_hidden')::boolean::int::smallint, 0)`,
  stripUnknownKeys,
};
const sql = swapStatements(words);

const createPlan = `
  CREATE TEMP TABLE swap (
    n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, kind text NOT NULL, row_no bigint, stage_no bigint,
    fields text NOT NULL, person boolean NOT NULL
  )`;

const planRemovals = `
  INSERT INTO swap (kind, row_no, fields, person)
  SELECT 'removed', r.row_no, '[]', true ${unseen} ORDER BY r.row_no`;

/** Sets every column. Naming an unchanged one causes no index write, because PostgreSQL compares the values. */
const replaceRows = `
  UPDATE investment_rows SET valid_from = :at,
         change_seq = CASE w.kind WHEN 'changed' THEN :seq + w.n ELSE investment_rows.change_seq END,
         ${recordColumns.map((name) => `${name} = t.${name}`).join(', ')}
  FROM swap w JOIN staged_rows t ON t.stage_no = w.stage_no
  WHERE investment_rows.row_no = w.row_no AND w.kind IN ('changed', 'republished')`;

const insertRows = `
  INSERT INTO investment_rows (source_no, id, valid_from, change_seq, ${record})
  SELECT :source_no, t.id, :at, :seq + w.n, ${recordColumns.map((name) => `t.${name}`).join(', ')}
  FROM swap w JOIN staged_rows t ON t.stage_no = w.stage_no WHERE w.kind = 'added' ORDER BY w.n`;

/** Replaces identities, never merges them. Runs after `insertRows`, so new records have their row number. */
const insertPersons = `
  INSERT INTO identity_rows (row_no, ${identityColumns.join(', ')})
  SELECT coalesce(w.row_no, h.row_no), ${identityColumns.map((name) => stagedPerson(words, name)).join(', ')}
  FROM swap w JOIN staged_rows t ON t.stage_no = w.stage_no
  LEFT JOIN investment_rows h ON w.row_no IS NULL AND h.source_no = :source_no AND h.id = t.id
  WHERE w.person AND t.identity IS NOT NULL ORDER BY w.n`;
