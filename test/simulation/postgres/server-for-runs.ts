import { startPostgres } from '../../postgres/server.js';

export interface ServerForWorlds {
  readonly url: string;
  close(): Promise<void>;
}

/** Returns the configured server, or starts one that ends with this process. */
export async function serverForWorlds(): Promise<ServerForWorlds> {
  const given = process.env.ROSTERD_TEST_POSTGRES;
  return given === undefined || given === '' ? startPostgres() : { url: given, close: async () => {} };
}
