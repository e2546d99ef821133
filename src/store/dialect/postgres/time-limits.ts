/*
 * Time limits that a role or a database may have. They end work whose time grows with the mirror, such as the rewrite of a
 * large table, at every attempt. Servers before PostgreSQL 17 have no `transaction_timeout` and reject its name, so it is set
 * where it is listed.
 */

const setWhereKnown = (value: string, isLocal: boolean): string =>
  `SELECT set_config(name, ${value}, ${isLocal}) FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout')`;

/** Lifts the limits for the rest of the transaction, which has begun. */
export const noTimeLimitHere = setWhereKnown("'0'", true);

/** Lifts the limits for the session, for a statement that cannot run in a transaction. */
export const noTimeLimit = setWhereKnown("'0'", false);

/** Returns a session to the limits of its role or database. */
export const usualTimeLimits = setWhereKnown('reset_val', false);
