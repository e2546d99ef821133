import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { filledMirror } from './filled-mirror.js';
import { filledPostgres, password } from './filled-postgres.js';

/** Returns the number of committed pages of a first listing; a text while there is no mirror to read. */
type Pages = () => Promise<unknown>;

const worlds = {
  SQLite: async () => {
    const world = await filledMirror(250);
    const pages: Pages = async () => {
      const raw = new Sqlite(join(world.folder, 'mirror.db'), { readonly: true, fileMustExist: true });
      try {
        return raw.prepare('SELECT pages_incoming FROM sources').pluck().get();
      } finally {
        raw.close();
      }
    };
    return { world, env: {}, pages };
  },
  PostgreSQL: async () => {
    const world = await filledPostgres(250);
    const pages: Pages = async () =>
      Number((await world.admin('SELECT pages_incoming FROM sources'))[0]?.pages_incoming);
    return { world, env: { DB_PASSWORD: password }, pages };
  },
} as const;

test.each(['SQLite', 'PostgreSQL'] as const)(
  'P11 a living holder keeps others out; killed in the middle of a page, the next sync goes on at once (%s)',
  async (database) => {
    const { world, env, pages } = await worlds[database]();
    onTestFinished(() => world.close());
    // The second page never arrives, so the process hangs in the middle of its first listing.
    await world.control('POST', '/faults', [
      { method: 'GET', path: '/investments', after: 1, times: 1, action: { delayMs: 600_000 } },
    ]);
    const main = join(packageRoot, 'dist', 'cli', 'main.js');
    const config = join(world.folder, 'config.json');
    const child = spawn(process.execPath, [main, 'sync', '--config', config], {
      cwd: packageRoot,
      env: { PATH: process.env.PATH, ACME: world.company.token, ...env },
      stdio: 'ignore',
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    await expect.poll(() => pages().catch(() => 'no mirror yet')).toBe(1);

    const refused = await world.run(['sync']);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(new RegExp(`source acme is held by [^ ]+:${child.pid}:`));

    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await world.run(['sync'])).code).toBe(0);
    // The committed page is not fetched again.
    const { requests } = (await world.control('GET', '/requests')) as { requests: Asked[] };
    // A request for one record only checks what the token may read.
    const listed = requests.filter(
      ({ path, query }) => path === '/investments' && query.per_page === '100' && !('updated_since' in query),
    );
    expect(listed.filter(({ query }) => !('cursor' in query))).toHaveLength(1);
  },
  90_000,
);

interface Asked {
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
}
