import type { PostgresDatabase } from './open.js';

/** The first version of the server that has `transaction_timeout`. An older one refuses to set it. */
const transactionTimeoutSince = 170_000;

type Server = Pick<PostgresDatabase, 'version'>;

/** The limits of the server that would end a long transaction, or a long statement outside one. */
export const longWorkLimits = ({ version }: Server): readonly string[] => [
  'statement_timeout',
  ...(version >= transactionTimeoutSince ? ['transaction_timeout'] : []),
];

/** Returns the statement that makes the server end the open transaction when it is idle for `millis`; zero means never. */
export const idleLimit = (millis: number): string =>
  `SET LOCAL idle_in_transaction_session_timeout = ${millis}`;

/**
 * Returns the statements that lift the time limits of a role or a database for the open transaction, because publishing a
 * large listing, a migration or a restore takes as long as it takes. The server still ends a transaction that is idle for
 * `idleMillis`; zero means never.
 */
export const withoutTimeLimits = (server: Server, idleMillis: number): string =>
  [...longWorkLimits(server).map((name) => `SET LOCAL ${name} = 0`), idleLimit(idleMillis)].join('; ');
