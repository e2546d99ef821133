import { type Ended, runProgram } from './run-program.js';

/**
 * Runs PostgreSQL's own program `pg_amcheck` on a database, as a user who may install its extension. Beyond `damageOf`
 * it compares each index with its parent pages and searches for every entry from the root. Returns what it finds
 * first, or null.
 */
export async function damageByPgAmcheck(program: string, address: string): Promise<string | null> {
  const { hostname, port, username, password, pathname } = new URL(address);
  const database = decodeURIComponent(pathname.slice(1));
  const server = ['--host', hostname, '--port', port === '' ? '5432' : port];
  const user = ['--username', decodeURIComponent(username), '--no-password'];
  const checks = ['--install-missing', '--heapallindexed', '--parent-check', '--rootdescend'];
  return verdictOf(
    await runProgram(program, [...server, ...user, ...checks, database], {
      PGPASSWORD: decodeURIComponent(password),
    }),
  );
}

/** Returns what the program found first; null if it found nothing. Its exit code is 2 for damage and 1 for no result. */
export function verdictOf({ code, out, err }: Ended): string | null {
  if (code === 0) return null;
  const lines = (code === 2 ? out + err : err + out).split('\n').map((line) => line.trim());
  const first = lines.filter((line) => line !== '').slice(0, 2);
  return `pg_amcheck exits with ${code}: ${first.join(' ')}`;
}
