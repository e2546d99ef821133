import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Change,
  createMirror,
  InvalidConfig,
  type Mirror,
  type MirrorDatabase,
} from '../../src/index.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { publicRelations } from '../../src/store/dictionary/relations.js';
import { type Embedded, embeddedMirror } from './embedded.js';

const run = promisify(execFile);
let world: Embedded;
let mirror: Mirror;

beforeAll(async () => {
  world = await embeddedMirror();
  mirror = world.mirror;
});
afterAll(() => world.close());

/** The mirror's file, beside the program. */
const opened = (options?: Sqlite.Options) => new Sqlite(join(world.folder, 'inner.db'), options);

describe('the library: a mirror inside another program', () => {
  test('the mirror ticks, returns typed queries and emits each change once, in order, before the tick resolves', async () => {
    const told: Change[] = [];
    const silence = mirror.onChange((changes) => {
      told.push(...changes);
    });
    const [first] = await mirror.tick();
    expect(first?.report.outcome).toBe('done');
    expect(told[0]).toMatchObject({ seq: 1, kind: 'snapshot', source: 'acme' });
    const { id } = await mirror.query.selectFrom('investments').select('id').executeTakeFirstOrThrow();
    const before = told.length;
    await world.control('DELETE', `/investments/${id}`);
    await mirror.tick('acme');
    expect(told.slice(before)).toMatchObject([{ kind: 'removed', id }]);
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, index) => index + 1));
    silence();
    await world.control('POST', '/investments', { company: world.company.id });
    await mirror.tick();
    expect(told).toHaveLength(before + 1);
  });

  test('a listener that throws stops neither the mirror nor other listeners', async () => {
    const told: Change[] = [];
    mirror.onChange(() => {
      throw new Error('mine');
    });
    mirror.onChange(async (changes) => void told.push(...changes));
    await world.control('POST', '/investments', { company: world.company.id });
    await mirror.tick();
    expect(told).toHaveLength(1);
  });

  test('if changes cannot be read, the next tick emits them and the program continues', async () => {
    const told: Change[] = [];
    mirror.onChange((changes) => void told.push(...changes));
    await mirror.tick();
    const other = opened();
    const view = other.prepare("SELECT sql FROM sqlite_master WHERE name = 'changes'").pluck().get();
    other.exec('DROP VIEW changes');
    await world.control('POST', '/investments', { company: world.company.id });
    await expect(mirror.tick()).rejects.toThrow('no such table: changes');
    expect(told).toEqual([]);
    other.exec(String(view));
    other.close();
    await mirror.tick();
    expect(told).toMatchObject([{ kind: 'added' }]);
  });

  test('a listener added while changes cannot be read receives every change committed from then on, and none before', async () => {
    await mirror.tick();
    const other = opened();
    const view = other.prepare("SELECT sql FROM sqlite_master WHERE name = 'changes'").pluck().get();
    other.exec('DROP VIEW changes');
    const told: Change[] = [];
    mirror.onChange((changes) => void told.push(...changes));
    await world.control('POST', '/investments', { company: world.company.id });
    await expect(mirror.tick()).rejects.toThrow('no such table: changes');
    other.exec(String(view));
    other.close();
    await mirror.tick();
    expect(told).toMatchObject([{ kind: 'added' }]);
  });

  test('a listener receives what is committed after the call, however long the read of changes takes', async () => {
    await mirror.tick();
    const other = opened({ readonly: true });
    const newest = other.prepare<[], number>('SELECT max(seq) FROM changes').pluck();
    const before = newest.get();
    const told: Change[] = [];
    let ticked: Promise<unknown> | undefined;
    // Every read of the mirror waits for this one.
    await mirror.query.connection().execute(async () => {
      mirror.onChange((changes) => void told.push(...changes));
      await world.control('POST', '/investments', { company: world.company.id });
      ticked = mirror.tick();
      await expect.poll(() => newest.get()).toBe((before ?? 0) + 1);
    });
    await ticked;
    other.close();
    expect(told).toMatchObject([{ kind: 'added', seq: (before ?? 0) + 1 }]);
  });

  test('the query handle of the mirror cannot write', async () => {
    await expect(mirror.query.deleteFrom('sources').execute()).rejects.toThrow(/readonly|read-only/);
  });

  test("the library's types name exactly what the dictionary names", () => {
    const named: Record<keyof MirrorDatabase, true> = {
      investments: true,
      identities: true,
      roster: true,
      investment_history: true,
      incoming: true,
      changes: true,
      companies: true,
      rounds: true,
      round_stats: true,
      company_updates: true,
      company_history: true,
      round_history: true,
      collections: true,
      round_totals: true,
      daily_raised: true,
      investor_totals: true,
      sync_status: true,
      awaiting_deletion: true,
      ticks: true,
      notices: true,
      quarantine: true,
      drift: true,
      sources: true,
      webhook_inbox: true,
      erasures: true,
      forgotten: true,
      data_dictionary: true,
      followed_sources: true,
    };
    expect(Object.keys(named).sort()).toEqual(publicRelations.map(({ name }) => name).sort());
    type Columns<Relation extends keyof MirrorDatabase> = Record<keyof MirrorDatabase[Relation], true>;
    const totals = {
      source: true,
      currency: true,
      investments: true,
      committed_cents: true,
      raised_cents: true,
      exact_cents: true,
    } as const;
    const round: Columns<'round_totals'> = {
      ...totals,
      company_id: true,
      offering_id: true,
      status: true,
      in_escrow_cents: true,
      company_name: true,
      round_name: true,
    };
    const daily: Columns<'daily_raised'> = { ...totals, company_id: true, day: true, company_name: true };
    const investor: Columns<'investor_totals'> = {
      ...totals,
      investor_id: true,
      first_applied_at: true,
      last_applied_at: true,
    };
    const typed = { round_totals: round, daily_raised: daily, investor_totals: investor };
    for (const [relation, columns] of Object.entries(typed))
      expect(Object.keys(columns).sort()).toEqual(
        publicRelations
          .find(({ name }) => name === relation)
          ?.columns.map(({ name }) => name)
          .sort(),
      );
  });

  /** As `rosterd pause` and `rosterd resume` do, beside the program. */
  const whilePaused = async (work: () => Promise<void>) => {
    const other = opened();
    try {
      other.exec("INSERT INTO pauses VALUES ('acme', '2026-11-01T00:00:00.000Z')");
      await work();
    } finally {
      other.exec('DELETE FROM pauses');
      other.close();
    }
  };

  test('a paused source is not read by a tick, and its report names the pause', async () => {
    const requests = async () =>
      ((await world.control('GET', '/requests')) as { readonly requests: unknown[] }).requests.length;
    await whilePaused(async () => {
      const before = await requests();
      const [result] = await mirror.tick('acme');
      expect(result?.report).toMatchObject({
        outcome: 'stopped',
        message: 'paused since 2026-11-01T00:00:00.000Z; to go on: rosterd resume',
      });
      expect(await requests()).toBe(before);
    });
    const [resumed] = await mirror.tick('acme');
    expect(resumed?.report.outcome).toBe('done');
  });

  test('a started mirror reads a paused source only after it is resumed', async () => {
    const other = await world.another({ database: 'sqlite:./paused.db' });
    const raw = new Sqlite(join(world.folder, 'paused.db'));
    raw.exec("INSERT INTO pauses VALUES ('acme', '2026-11-01T00:00:00.000Z')");
    const ticks = () => raw.prepare('SELECT count(*) FROM tick_rows').pluck().get();
    try {
      await other.start();
      const [source] = (await other.status()).sources;
      // A followed source has a spacing from the start on.
      expect([source?.paused_at, source?.webhook_spacing, ticks()]).toEqual([
        '2026-11-01T00:00:00.000Z',
        null,
        0,
      ]);
      raw.exec('DELETE FROM pauses');
      await expect.poll(ticks).toBeGreaterThan(0);
    } finally {
      await other.stop();
      raw.close();
    }
  });

  test('the mirror follows by itself once started, and stops permanently', async () => {
    await mirror.start();
    expect(mirror.receiverUrl).toBeNull();
    await expect.poll(async () => (await mirror.status()).health).toBe('ok');
    await mirror.stop();
    await mirror.stop();
    await expect(mirror.tick()).rejects.toMatchObject({
      code: 'stopped',
      message: 'the source is no longer synced',
    });
  });

  test('createMirror reports every error in its configuration', async () => {
    const config = { platform: { baseUrl: 'ftp://x' }, sources: [{ name: 'A B' }] };
    const refused = createMirror({ config, cwd: world.folder, env: {} });
    await expect(refused).rejects.toBeInstanceOf(InvalidConfig);
    await expect(refused).rejects.toThrow(/platform\.baseUrl[\s\S]*sources\[0\]\.name/);
  });
});

/** Runs a program in a folder of its own with the built package and what is installed beside it. */
async function runAsUser(name: string, place: (file: string) => void): Promise<string> {
  const home = join(world.folder, name);
  const modules = join(home, 'node_modules');
  const built = join(modules, 'rosterd');
  mkdirSync(built, { recursive: true });
  const installed = join(packageRoot, 'node_modules');
  for (const name of readdirSync(installed))
    if (!name.startsWith('.')) symlinkSync(join(installed, name), join(modules, name));
  for (const name of ['dist', 'package.json', 'schema'])
    cpSync(join(packageRoot, name), join(built, name), { recursive: true });
  writeFileSync(join(home, 'package.json'), '{"type":"module"}');
  place(join(home, 'program.ts'));
  const { stdout } = await run(process.execPath, ['program.ts'], {
    cwd: home,
    env: { PLATFORM: world.sandbox.url, ACME_TOKEN: world.company.token },
  });
  return stdout;
}

/* `npm run test:package`, which `.ci/run` runs in its short form, also compiles it against the installed package. */
test('the example runs against the built package as for a user', async () => {
  const printed = await runAsUser('user', (file) =>
    cpSync(join(packageRoot, 'test', 'library', 'example.ts'), file),
  );
  expect(printed).toMatch(
    /^change snapshot \(all\)\n[\s\S]*tick acme done\nraised \w{3} \d+ \d+\n[\s\S]*active \d+\nhealth \w+\nfault usage\n$/,
  );
});

test('a program may build queries with the Kysely that it has installed itself', async () => {
  const program = `
    import { sql, expressionBuilder, Kysely } from 'kysely';
    import { createMirror } from 'rosterd';
    const config = {
      platform: { baseUrl: process.env.PLATFORM },
      database: 'sqlite:./mirror.db',
      sources: [{ name: 'acme', token: { env: 'ACME_TOKEN' } }],
    };
    const mirror = await createMirror({ config });
    await mirror.tick();
    const { query } = mirror;
    const { rows } = await sql\`SELECT count(*) AS n FROM investments WHERE source = \${'acme'}\`.execute(query);
    const built = await query
      .selectFrom('investments')
      .select([sql\`count(*)\`.as('n'), (eb) => eb.fn.max(sql.ref('source')).as('source')])
      .where(expressionBuilder()('source', '=', 'acme'))
      .where('id', 'in', query.selectFrom('investments').select('id'))
      .executeTakeFirst();
    console.log(JSON.stringify([query instanceof Kysely, rows[0].n > 0 && rows[0].n === built.n, built.source]));
    await mirror.stop();
  `;
  const printed = await runAsUser('another', (file) => writeFileSync(file, program));
  expect(JSON.parse(printed)).toEqual([false, true, 'acme']);
});
