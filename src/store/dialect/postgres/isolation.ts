/**
 * A role or a database may have another level by default. What hosts, daemons and commands write beside one another relies on this one:
 * a statement that waited for a lock goes on with what the other transaction committed. At a stricter level it would fail.
 */
export const readCommitted = "SET default_transaction_isolation = 'read committed'";

/**
 * A policy of an administrator that hides rows even from the owner of a table (FORCE ROW LEVEL SECURITY) would make a tombstone
 * find nothing to remove, and an export empty. With this, the server fails the statement instead.
 */
export const allRows = 'SET row_security = off';
