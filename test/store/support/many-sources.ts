/** The names of these sources. */
export const sourceNamesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `source-${String(index + 1).padStart(5, '0')}`);

/**
 * SQL that both databases understand: sources 1 to `count` with companies, of which each 100th is halted, each next one
 * fails, the next is stale, the next lists for the first time; one is paused. All others are fine at `at`.
 */
export function manySources(count: number, at: number): readonly string[] {
  const time = (minutes: number) => `'${new Date(at + minutes * 60_000).toISOString()}'`;
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const name = `'source-' || substr('00000' || i, length('00000' || i) - 4)`;
  return [
    `INSERT INTO sources (no, name, fingerprint, state, halted_from, halted_code, halted_message, halted_at, cursor,
       cursor_saved_at, published_through, listed_at, listed_seq, rows_held, last_tick_at, last_success_at, last_outcome,
       last_error_code, last_error, last_error_at)
     ${numbers}
     SELECT i, ${name}, 'f',
       CASE i % 100 WHEN 1 THEN 'halted' WHEN 4 THEN 'listing' ELSE 'following' END,
       CASE i % 100 WHEN 1 THEN 'following' END, CASE i % 100 WHEN 1 THEN 'unauthorized' END,
       CASE i % 100 WHEN 1 THEN 'the token was refused' END, CASE i % 100 WHEN 1 THEN ${time(-3)} END,
       CASE i % 100 WHEN 4 THEN NULL ELSE 'c_' || i END, ${time(-1)}, ${time(-1)},
       CASE i % 100 WHEN 4 THEN NULL ELSE '2026-10-01T00:00:00.000Z' END, CASE i % 100 WHEN 4 THEN NULL ELSE 1 END, i,
       CASE i % 100 WHEN 3 THEN ${time(-600)} ELSE ${time(-1)} END,
       CASE i % 100 WHEN 3 THEN ${time(-600)} ELSE ${time(-1)} END,
       CASE i % 100 WHEN 1 THEN 'failed' WHEN 2 THEN 'failed' ELSE 'done' END,
       CASE i % 100 WHEN 1 THEN 'unauthorized' WHEN 2 THEN 'unreachable' END,
       CASE i % 100 WHEN 1 THEN 'the token was refused' WHEN 2 THEN 'the platform did not answer' END,
       CASE WHEN i % 100 IN (1, 2) THEN ${time(-3)} END
     FROM n`,
    `INSERT INTO company_rows (source_no, id, name, reported_rounds, valid_from, change_seq)
     ${numbers} SELECT i, 'co_' || i, 'Company Number ' || i, '[]', '2026-10-01T00:00:00.000Z', 1 FROM n`,
    `INSERT INTO pauses (source, paused_at) VALUES ('source-00005', ${time(-2)})`,
  ];
}
