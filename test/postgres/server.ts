import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A separate PostgreSQL on the loopback, deleted when it is closed or this process ends. */
export interface PostgresServer {
  /** As its superuser, on its database `postgres`. */
  readonly url: string;
  /** Stops it as an operator would, dropping every connection; the data stays. */
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

type Said = { readonly url: string } | { readonly done: string } | { readonly failed: string };

export async function startPostgres(): Promise<PostgresServer> {
  const password = randomBytes(12).toString('hex');
  const keeper = fileURLToPath(new URL('./keeper.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', keeper, password], {
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
    await next();
  };
  const ready = await next();
  if (!('url' in ready)) throw new Error('no PostgreSQL for the tests: its keeper did not send its address');
  return {
    url: ready.url,
    stop: () => order('stop'),
    start: () => order('start'),
    async close() {
      child.stdin.end();
      await gone;
    },
  };
}
