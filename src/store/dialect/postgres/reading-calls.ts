import type pg from 'pg';
import { callsMore, cannotTellCalls } from '../../query-refusals.js';

/**
 * Throws `usage` for a statement that calls a function of PostgreSQL which does more than read, such as
 * `pg_terminate_backend` or `pg_advisory_lock`. A read-only transaction permits those, and a plan shows neither the rows of
 * VALUES nor a LIMIT. So the text is searched, which also works on a standby and for a login that may create nothing. No
 * text can hide a name: only U&"…" spells one in another way, and functions that run a text as SQL are refused too.
 * Functions, views and operators of users are not examined.
 */
export async function requireReadingCalls(client: pg.Client, statement: string): Promise<void> {
  if (spelledCall.test(statement)) throw cannotTellCalls();
  const { rows } = await client.query<{ name: string }>(doingMore, [statement]);
  const called = rows.find(({ name }) => !readingOnly.test(name) && isCalled(name, statement));
  if (called !== undefined) throw callsMore(called.name);
}

/** A name in another spelling, where it can be that of a function. */
const spelledCall = /U&"(?:[^"]|"")*"\s*(?:\(|\/\*|--|uescape)/i;

/** A comment may stand between the name and its parenthesis. A comment or a text that looks like a call counts as one. */
const isCalled = (name: string, statement: string): boolean =>
  new RegExp(String.raw`(?<![\w$])${name}"?\s*(?:\(|/\*|--)`, 'i').test(statement);

/**
 * The functions in the text whose result may change from call to call: of PostgreSQL those that are declared volatile, and
 * of its extensions those that write files or statements elsewhere. Objects with a smaller id are part of PostgreSQL.
 */
const doingMore = `
  SELECT DISTINCT proname::text AS name FROM pg_catalog.pg_proc
  WHERE CASE WHEN oid < 16384 THEN provolatile = 'v' ELSE proname ~ '^(?:dblink|pg_file_)' END
    AND strpos(lower($1::text COLLATE "C"), proname::text) > 0 ORDER BY 1`;

/** Volatile functions that do nothing but return a value. A function that a later PostgreSQL adds is refused. */
const readingOnly = new RegExp(
  `^(?:${[
    'clock_timestamp|timeofday|current_query|currval|lastval|pg_sleep(?:_for|_until)?',
    'random|random_normal|setseed|array_sample|array_shuffle|gen_random_uuid|uuidv[47]|bernoulli|system',
    'lo_get|pg_(?:database|indexes|relation|table|tablespace|total_relation)_size|txid_status',
    'pg_(?:control|current|get|is|last|partition|show|stat_get|xact)_\\w+|pg_(?:safe_snapshot_)?blocking_pids',
    'pg_collation_actual_version|pg_database_collation_actual_version|pg_hba_file_rules|pg_ident_file_mappings',
    'pg_jit_available|pg_lock_status|pg_notification_queue_usage|pg_prepared_xact|pg_sequence_last_value',
    'pg_available_wal_summaries|pg_wal_summary_contents|pg_stat_have_stats',
  ].join('|')})$`,
);
