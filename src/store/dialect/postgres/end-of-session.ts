import pg from 'pg';

/** What the server said when it ended the session of a client, between two statements. */
const ends = new WeakMap<pg.Client, Error>();

/**
 * Keeps the message with which the server ends the session while no statement runs: the driver reports it as an event, and
 * the next statement only as a connection of no use. Also keeps that event from ending the process.
 */
export function rememberEnd(client: pg.Client): void {
  client.on('error', (error) => {
    if (error instanceof pg.DatabaseError && !ends.has(client)) ends.set(client, error);
  });
}

/** Returns the server's reason if the driver refused a statement because the session has ended, otherwise the error itself. */
export function endOfSession(client: pg.Client, error: unknown): unknown {
  return error instanceof Error && refusedByDriver.test(error.message) ? (ends.get(client) ?? error) : error;
}

const refusedByDriver = /^(?:Connection terminated|Client (?:has encountered|was closed))/;

/** Throws the server's reason if `work` fails because the server has ended the session. */
export async function withEndOfSession<Result>(
  client: pg.Client,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw endOfSession(client, error);
  }
}
