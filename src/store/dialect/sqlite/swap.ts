import { changesPerCall } from '../../committed-change.js';
import { columnsToWrite, identityColumns, recordColumns } from '../../record-columns.js';
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
import type { Prepare, Prepared } from './prepared.js';
import { stripUnknownKeys } from './unknown-keys.js';

/*
 * Publishes a re-listing with set-based statements: see swap-statements.ts. No record passes through JavaScript except
 * for notices; of an erased person only the id does, for the receipt. The plan is dropped at the end, and a rollback
 * removes it too.
 */
export function swapIn(commit: Commit, { removed }: { readonly removed: readonly number[] }): void {
  const { source, statements } = commit;
  const { raw } = statements;
  raw.exec(createPlan);
  if (removed.length > 0) raw.prepare(planRemovals).run(JSON.stringify(removed));
  raw.prepare(sql.planStaged).run({ source_no: source.no });
  applyPlan(commit);
}

/** Deletes the rows awaiting deletion, after a person accepted it. */
export function removeAwaiting(commit: Commit): void {
  const { raw } = commit.statements;
  raw.exec(createPlan);
  raw.prepare(sql.planAwaiting).run({ source_no: commit.source.no });
  applyPlan(commit);
}

function applyPlan(commit: Commit): void {
  const { source, at, statements } = commit;
  const { raw } = statements;
  const prepare: Prepare = (text) => raw.prepare(text);
  const { counts, changes, rows } = countsOf(prepare<[], PlannedRows>(sql.countPlan).all());
  const seq = commit.reserve(changes);
  prepare(numberAdded).run();
  const every = { source_no: source.no, at, seq };
  prepare(sql.stripRemoved).run();
  prepare(sql.stripHistoryOfRemoved).run({ source_no: source.no });
  prepare(sql.archive).run({ at });
  prepare(sql.announce).run(every);
  if (commit.wantsNotices) collectNotices(commit, prepare(sql.changesOfPlan), seq, changes);
  for (const id of prepare<[], string>(sql.erasedIds).pluck().all()) commit.absent(id);
  prepare(sql.eraseUnknown).run({ source_no: source.no });
  const set = changedColumns(prepare<[], string>(fieldsOfPlan).pluck().all());
  prepare(sql.deletePersons).run();
  prepare(sql.removeRows).run();
  for (let last = 0; last < rows; last += rowsPerUpdate)
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
    for (const change of slice.all({ seq, after: last, through: Math.min(last + changesPerCall, total) }))
      commit.collectNotice(committedChange(change, source.name, at));
}

/** Limits memory: UPDATE FROM collects all new values before it writes the first row. */
const rowsPerUpdate = 10_000;

const record = recordColumns.join(', ');

const words: SwapWords = {
  distinct: 'IS NOT',
  // SQLite never reorders a CROSS JOIN.
  join: 'CROSS JOIN',
  staged: 'staged_rows t NOT INDEXED',
  person: (name) => `t.identity ->> '${name}'`,
  emailHidden: `coalesce(t.identity ->> 'email_hidden', 0)`,
  stripUnknownKeys,
};
const sql = swapStatements(words);

const createPlan = `
  CREATE TEMP TABLE swap (
    n INTEGER PRIMARY KEY, kind TEXT NOT NULL, row_no INTEGER, stage_no INTEGER, fields TEXT NOT NULL, person INTEGER NOT NULL
  )`;

const planRemovals = `
  INSERT INTO temp.swap (kind, row_no, fields, person)
  SELECT 'removed', value, '[]', 1 FROM json_each(?) ORDER BY value`;

const numberAdded = `
  UPDATE temp.swap SET row_no = n + (SELECT coalesce(max(row_no), 0) FROM investment_rows) WHERE kind = 'added'`;

const fieldsOfPlan = `SELECT DISTINCT fields FROM temp.swap WHERE kind = 'changed'`;

/** The columns that differ in at least one row. */
const changedColumns = (fields: readonly string[]) =>
  columnsToWrite(new Set(fields.flatMap((names) => JSON.parse(names) as string[])));

const replaceRows = (columns: readonly string[]) => `
  UPDATE investment_rows SET valid_from = :at,
         change_seq = CASE w.kind WHEN 'changed' THEN :seq + w.n ELSE investment_rows.change_seq END,
         ${columns.map((name) => `${name} = t.${name}`).join(', ')}
  FROM temp.swap w JOIN staged_rows t ON t.stage_no = w.stage_no
  WHERE investment_rows.row_no = w.row_no AND w.kind IN ('changed', 'republished') AND w.n > :after AND w.n <= :through`;

const insertRows = `
  INSERT INTO investment_rows (row_no, source_no, id, valid_from, change_seq, ${record})
  SELECT w.row_no, :source_no, t.id, :at, :seq + w.n, ${recordColumns.map((name) => `t.${name}`).join(', ')}
  FROM temp.swap w CROSS JOIN staged_rows t ON t.stage_no = w.stage_no WHERE w.kind = 'added' ORDER BY w.n`;

/** Replaces identities, never merges them: a field missing from the new identity is deleted. */
const insertPersons = `
  INSERT INTO identity_rows (row_no, ${identityColumns.join(', ')})
  SELECT w.row_no, ${identityColumns.map((name) => stagedPerson(words, name)).join(', ')}
  FROM temp.swap w CROSS JOIN staged_rows t ON t.stage_no = w.stage_no
  WHERE w.person AND t.identity IS NOT NULL ORDER BY w.n`;
