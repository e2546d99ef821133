import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { defined } from '../../src/domain/defined.js';

/** A separate PostgreSQL on the loopback, deleted when it is closed or this process ends. */
export interface PostgresServer {
  /** As its superuser, on its database `postgres`. */
  readonly url: string;
  /** Stops it as an operator would, dropping every connection; the data stays. */
  stop(): Promise<void>;
  /** Starts it again on the same port. Throws with the server's log if it ends at once. */
  start(): Promise<void>;
  /** Ends all of its processes at once; what they had not written is lost. */
  kill(): Promise<void>;
  /** Ends one of its processes: the server drops every connection and recovers by itself. */
  crash(): Promise<void>;
  /** The folder of its data, for tests that damage it. */
  readonly data: string;
  close(): Promise<void>;
}

type Said =
  | { readonly url: string; readonly data: string }
  | { readonly done: string }
  | { readonly refused: string }
  | { readonly failed: string };

export interface ServerOptions {
  /** The folder in which its data is created; by default that of the system for temporary files. */
  readonly base?: string;
  /** As `name=value`, beyond those of `keeper.ts`. */
  readonly settings?: readonly string[];
}

export interface KeeperOptions extends Pick<ServerOptions, 'base'> {
  readonly password: string;
  readonly settings: readonly string[];
}

export async function startPostgres({ base, settings = [] }: ServerOptions = {}): Promise<PostgresServer> {
  const password = randomBytes(12).toString('hex');
  const options: KeeperOptions = { password, settings, ...defined({ base }) };
  const keeper = fileURLToPath(new URL('./keeper.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', keeper, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // In another process group, so that Ctrl-C in the terminal does not stop it before its tests have ended.
    detached: true,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const gone = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    const said: Said = done ? { failed: 'its keeper ended without a word' } : JSON.parse(value);
    if ('failed' in said) throw new Error(`no PostgreSQL for the tests: ${said.failed}`);
    return said;
  };
  const order = async (line: string) => {
    child.stdin.write(`${line}\n`);
    const said = await next();
    if ('refused' in said) throw new Error(said.refused);
  };
  const ready = await next();
  if (!('url' in ready)) throw new Error('no PostgreSQL for the tests: its keeper did not send its address');
  return {
    url: ready.url,
    data: ready.data,
    stop: () => order('stop'),
    start: () => order('start'),
    kill: () => order('kill'),
    crash: () => order('crash'),
    async close() {
      child.stdin.end();
      await gone;
    },
  };
}
