import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { dropDatabasesOf, runName } from './run-databases.js';
import { type PostgresServer, startPostgres } from './server.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address at which a test file requests the server, and the prefix of this run's databases. */
    postgres: { readonly address: string; readonly run: string };
  }
}

/**
 * One PostgreSQL for the whole run, started when the first test file requests it, so other files need not wait.
 * ROSTERD_TEST_POSTGRES names a server to use instead; its role must be able to create databases.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.ROSTERD_TEST_POSTGRES;
  const run = runName();
  let own: Promise<PostgresServer> | undefined;
  const url = async () => {
    if (given !== undefined && given !== '') return given;
    // With hundreds of databases, autovacuum starts a process ten times a second, and blocks scrubs for moments.
    own ??= startPostgres({ settings: ['autovacuum=off'] });
    return (await own).url;
  };
  let asked = false;
  const server = createServer((_, response) => {
    asked = true;
    url().then(
      (text) => response.end(text),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  project.provide('postgres', { address: `http://127.0.0.1:${port}`, run });
  return async () => {
    server.close();
    server.closeAllConnections();
    if (own !== undefined) await (await own.catch(() => null))?.close();
    else if (asked) await dropDatabasesOf(await url(), run);
  };
}
