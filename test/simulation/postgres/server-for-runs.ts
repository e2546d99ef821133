import { startPostgres } from '../../postgres/server.js';

export interface ServerForRuns {
  readonly url: string;
  close(): Promise<void>;
}

/** Returns the configured server, or starts one that ends with this process. */
export async function serverForRuns(): Promise<ServerForRuns> {
  const given = process.env.ROSTERD_TEST_POSTGRES;
  return given === undefined || given === '' ? startPostgres() : { url: given, close: async () => {} };
}
