import { EventEmitter } from 'node:events';
import pg from 'pg';
import { defined } from '../../../domain/defined.js';
import { Fault, isFault } from '../../../domain/fault.js';
import type { PostgresLocation } from '../../database-location.js';
import { driverUrl } from './driver-url.js';

/**
 * Where a server is. The password of a location is read for each connection, so that a rotated one takes effect; a URL may
 * contain a password that stays.
 */
export type ServerAddress = string | Pick<PostgresLocation, 'url' | 'password'>;

type Password = NonNullable<PostgresLocation['password']>;

/** Returns the URL, without the password of a location. */
export const urlOf = (server: ServerAddress): string => (typeof server === 'string' ? server : server.url);

/** Returns a client that is not connected yet. Throws when a file that the URL names cannot be read. */
export function makeClient(server: ServerAddress, config: pg.ClientConfig): pg.Client {
  return withPassword(new pg.Client({ ...config, connectionString: driverUrl(urlOf(server)) }), server);
}

/**
 * Returns the class of the clients of a pool. Its constructor never throws: the driver reads the files that the URL names for
 * each client, and the pool makes some clients where nothing catches an error, which would end the process.
 */
export function clientsOf(server: ServerAddress): typeof pg.Client {
  return new Proxy(pg.Client, {
    construct(made, [config]: [pg.ClientConfig]) {
      try {
        return withPassword(new made(config), server);
      } catch (error) {
        return new UnmadeClient(error);
      }
    },
  });
}

/** Stands for a client that could not be made: connecting fails for that reason. */
class UnmadeClient extends EventEmitter {
  constructor(private readonly reason: unknown) {
    super();
  }

  connect(callback: (error: unknown) => void): void {
    process.nextTick(callback, this.reason);
  }
}

function withPassword(client: pg.Client, server: ServerAddress): pg.Client {
  const password = typeof server === 'string' ? null : server.password;
  if (password === null) return client;
  let used: Promise<string> | undefined;
  // The driver calls it when the server asks for the password.
  Object.assign(client, {
    password: async () => {
      used = current(password);
      return await used.catch((error: unknown) => {
        // The driver reports the failure and leaves the socket open until the server gives up on it, a minute later.
        setImmediate(() => client.connection.stream.destroy());
        throw whileRunning(error);
      });
    },
  });
  client.connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
    if (refusals.has(code) && printed.get(password) === used) printed.delete(password);
  });
  return client;
}

/** Reads the password of a server once, where a configuration that does not work should end the program. */
export async function checkPassword(server: ServerAddress): Promise<void> {
  if (typeof server !== 'string' && server.password !== null) await current(server.password);
}

/** Returns the error for a password that cannot be read while a program runs: perhaps for a moment, so it is retried. */
function whileRunning(error: unknown): unknown {
  if (!isFault(error, 'usage')) return error;
  const { hint } = error.about;
  return new Fault('database_busy', error.message, { ...defined({ hint }), lasting: true, cause: error });
}

/** The server refuses the user or the password. */
const refusals: ReadonlySet<string | undefined> = new Set(['28000', '28P01']);

/** What commands printed: each is run again only after a refusal, because it may take seconds. */
const printed = new WeakMap<Password, Promise<string>>();

function current(password: Password): Promise<string> {
  if (password.runsCommand !== true) return password.reveal();
  const known = printed.get(password);
  if (known !== undefined) return known;
  const printing = password.reveal();
  printed.set(password, printing);
  printing.catch(() => {
    if (printed.get(password) === printing) printed.delete(password);
  });
  return printing;
}
