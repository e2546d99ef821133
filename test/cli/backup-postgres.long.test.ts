import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { systemClock } from '../../src/runtime/clock.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { restorePostgres } from '../../src/store/dialect/postgres/restore.js';
import {
  type FreshDatabase,
  freshDatabase,
  migratedDatabase,
  postgresUrl,
} from '../postgres/fresh-database.js';
import { giveToOwnRole } from '../postgres/own-role.js';
import { withClient } from '../postgres/run-databases.js';
import { canonicalDump } from '../store/canonical-dump.js';
import { type FilledPostgres, filledPostgres, password } from './filled-postgres.js';
import { pgTools } from './pg-tools.js';

let world: FilledPostgres;
const at = (name: string) => join(world.folder, name);
/** A PATH on which no program is installed, and one with pg_dump and pg_restore. */
const without = { PATH: '/nowhere' };
let installed: { PATH: string };

beforeAll(async () => {
  world = await filledPostgres(60);
  expect((await world.run(['sync'])).code).toBe(0);
  await world.control('POST', '/churn', { changes: 20 });
  // A restore scrubs what the backup had not scrubbed. Writers of other tests on the server block a scrub for moments.
  const scrubbed = async () => {
    expect((await world.run(['sync'])).code).toBe(0);
    await withClient(secretOf(world.url), async (client) => {
      expect((await client.query('SELECT 1 FROM erasures WHERE scrubbed_at IS NULL')).rows).toEqual([]);
    });
  };
  await vi.waitFor(scrubbed, { timeout: 120_000, interval: 100 });
  installed = { PATH: pgTools(at('tools'), 99) };
});

afterAll(() => world.close());

const secretOf = (address: string) => {
  const url = new URL(address);
  url.password = encodeURIComponent(password);
  return url.href;
};

const dumpOf = async (url: string) => {
  const postgres = await openPostgres(url);
  try {
    return await canonicalDump({ kind: 'postgres', postgres });
  } finally {
    await postgres.close();
  }
};

async function targetDatabase(create: () => Promise<FreshDatabase>) {
  const database = await create();
  const own = await giveToOwnRole(database.url, { objects: true });
  onTestFinished(async () => {
    await database.drop();
    await own.dropRole(await postgresUrl());
  });
  return { url: own.url, admin: database.url };
}

const emptyDatabase = () => targetDatabase(freshDatabase);
/** With the tables of a mirror, which a restore otherwise creates. */
const emptyMirror = () => targetDatabase(migratedDatabase);

const into = (url: string) => ['--set', `database=${url}`];

describe('backup and restore on PostgreSQL', () => {
  test.each([
    [
      'COPY',
      () => without,
      'copy',
      /pg_dump is not installed: written as an archive/,
      /^Next: start rosterd/,
    ],
    [
      'pg_dump',
      () => installed,
      'pg_dump',
      /^It contains names/,
      /a file of pg_dump has no digests: its rows were counted/,
    ],
  ])(
    'a backup through %s is private, verified, and restored with the same content',
    async (_, env, format, note, told) => {
      const name = `${format}.pgbackup`;
      const made = await world.run(['backup', name, '--json'], { env: env() });
      expect([made.code, made.err]).toEqual([0, expect.stringMatching(note)]);
      expect(JSON.parse(made.out)).toMatchObject({ file: at(name), format });
      expect(statSync(at(name)).mode & 0o777).toBe(0o600);
      expect(readFileSync(at(name)).includes(password)).toBe(false);
      const target = await emptyDatabase();
      const back = await world.run(['restore', name, ...into(target.url)], { env: env() });
      expect([back.code, back.out, back.err]).toEqual([
        0,
        expect.stringMatching(/ rows restored from the backup/),
        expect.stringMatching(told),
      ]);
      expect(await dumpOf(target.admin)).toEqual(await dumpOf(secretOf(world.url)));
      const synced = await world.run(['sync', '--json', ...into(target.url)], { env: env() });
      expect(JSON.parse(synced.out)).toMatchObject([{ mode: 'delta', outcome: 'done' }]);
      const refused = await world.run(['restore', name, ...into(target.url)], { env: env() });
      expect([refused.code, refused.err]).toEqual([
        2,
        expect.stringMatching(/already holds a mirror\nTry: .*--force/),
      ]);
      const replaced = await world.run(['restore', '--force', name, ...into(target.url)], { env: env() });
      expect([replaced.code, replaced.err]).toEqual([0, expect.stringContaining('Next:')]);
      expect(await dumpOf(target.admin)).toEqual(await dumpOf(secretOf(world.url)));
    },
  );

  test('restore compares the content of an archive with its digests, and says that it cannot for pg_dump', async () => {
    const target = await emptyMirror();
    await world.run(['backup', 'digests.pgbackup', '--force'], { env: without });
    await world.run(['backup', 'counted.pgbackup', '--force'], { env: installed });
    const back = (name: string, env: object) =>
      world.run(['restore', '--force', '--json', name, ...into(target.url)], { env: env as never });
    const archive = await back('digests.pgbackup', without);
    expect([archive.code, JSON.parse(archive.out).proven]).toEqual([0, true]);
    const dump = await back('counted.pgbackup', installed);
    expect([dump.code, JSON.parse(dump.out).proven]).toEqual([0, false]);
    const content = await dumpOf(target.admin);
    await withClient(target.admin, (client) =>
      client.query(
        `CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.reason = 'x'; RETURN NEW; END $$;
         CREATE TRIGGER changes BEFORE INSERT ON investment_rows FOR EACH ROW EXECUTE FUNCTION changed()`,
      ),
    );
    const refused = await back('digests.pgbackup', without);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(/investment_rows differs after the restore: its \d+ rows .* other content/),
    ]);
    expect(await dumpOf(target.admin)).toEqual(content);
  });

  test('a pg_dump that is older than the server is not used, and the note says so', async () => {
    const old = { PATH: pgTools(at('old-tools'), 9) };
    const { code, out, err } = await world.run(['backup', 'old.pgbackup', '--json'], { env: old });
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/pg_dump 9 is older than the server, PostgreSQL \d+/),
    ]);
    expect(JSON.parse(out)).toMatchObject({ format: 'copy' });
  });

  test('a backup whose login lost a right names it, whichever program makes it', async () => {
    const { username } = new URL(world.url);
    await world.admin(`REVOKE SELECT ON budgets FROM "${username}"`);
    for (const env of [without, installed]) {
      const made = await world.run(['backup', 'refused.pgbackup'], { env });
      expect(made).toMatchObject({ code: 1, out: '' });
      expect(made.err).toMatch(/lacks SELECT on budgets.*\nTry: .*GRANT SELECT ON budgets TO /);
    }
    await world.admin(`GRANT SELECT ON budgets TO "${username}"`);
  });

  test('someone forgotten after the backup stays forgotten, and names them to no one in between', async () => {
    await world.run(['backup', 'names.pgbackup'], { env: without });
    const [person] = await world.admin(
      'SELECT r.investor_id AS id, i.email FROM investment_rows r JOIN rosterd_identity.identity_rows i USING (row_no) WHERE i.email IS NOT NULL AND r.investor_id IS NOT NULL LIMIT 1',
    );
    expect((await world.run(['forget', String(person?.id)])).code).toBe(0);
    const target = await emptyMirror();
    const { code, out } = await world.run(['restore', 'names.pgbackup', ...into(target.url)], {
      env: without,
    });
    expect([code, out]).toEqual([0, expect.stringContaining('1 forget request applied again')]);
    await withClient(target.admin, async (client) => {
      const found = await client.query('SELECT 1 FROM rosterd_identity.identity_rows WHERE email = $1', [
        person?.email,
      ]);
      const kept = await client.query('SELECT id FROM forgotten');
      expect([found.rowCount, kept.rows]).toEqual([0, [{ id: person?.id }]]);
    });
    await world.run(['forget', String(person?.id), '--lift']);
  });

  test.each([
    ['someone forgotten since', 'keep'],
    ['everyone, without identities in the configuration,', 'drop'],
    ['everyone of a source whose follow rule drops identities', 'by rule'],
  ] as const)('restore: %s is erased everywhere by the commit that brings the rows', async (_, dropped) => {
    const [person] = await world.admin(
      `SELECT s.no, r.id, r.investor_id AS investor FROM investment_rows r
       JOIN sources s ON s.no = r.source_no WHERE r.investor_id IS NOT NULL ORDER BY r.row_no LIMIT 1`,
    );
    await world.admin(
      `UPDATE investment_rows SET extra = '{"nickname":"Canary"}' WHERE id = '${person?.id}'`,
    );
    await world.admin(
      `INSERT INTO rosterd_identity.quarantine_rows (source_no, id, problem, body, seen_at)
       SELECT no, '${person?.id}', 'x', '{"name":"Canary"}', '2026-01-01T00:00:00.000Z' FROM sources WHERE no = ${person?.no}`,
    );
    await world.admin(
      `INSERT INTO rosterd_identity.staged_rows (source_no, id, investor_id, status, needs_whitelisting, visible,
         investor_deactivated, via_entity, blockers, contracts, observed_at, identity)
       SELECT source_no, id, investor_id, status, needs_whitelisting, visible, investor_deactivated, via_entity,
         blockers, contracts, observed_at, '{"name":"Canary"}' FROM investment_rows WHERE id = '${person?.id}'`,
    );
    await world.admin(
      `INSERT INTO followed_sources (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
       SELECT name, 'crm', 'test', 'company', 'co_' || no, 'inst_' || no, 'connected', 1, '2026-01-01T00:00:00.000Z'
       FROM sources`,
    );
    const file = at(`everywhere-${dropped}.pgbackup`);
    expect((await world.run(['backup', file], { env: without })).code).toBe(0);
    await world.admin('DELETE FROM followed_sources');
    await world.admin('DELETE FROM rosterd_identity.staged_rows');
    const target = await emptyMirror();
    const place = { kind: 'postgres', url: target.admin, password: null } as const;
    const found = () =>
      withClient(target.admin, async (client) => {
        const { rows } = await client.query(
          `SELECT (SELECT count(*)::int FROM quarantine_rows WHERE body LIKE '%Canary%')
                + (SELECT count(*)::int FROM investment_rows WHERE extra LIKE '%Canary%')
                + (SELECT count(*)::int FROM staged_rows WHERE identity LIKE '%Canary%') AS canaries,
             (SELECT count(*)::int FROM identity_rows JOIN investment_rows USING (row_no)
              WHERE $1 <> 'keep' OR investor_id = '${person?.investor}') AS names,
             (SELECT count(*)::int FROM identity_rows) > 0 AS others`,
          [dropped],
        );
        return rows[0];
      });
    const seen: unknown[] = [];
    const since = { id: person?.investor as UserId, at: '2026-01-02T00:00:00.000Z' as Instant };
    await restorePostgres(
      file,
      place,
      {
        ...{ clock: systemClock, env: without, version: '0', force: false, leaseMs: 30_000 },
        identity: dropped === 'drop' ? 'drop' : 'keep',
        namelessRules: dropped === 'by rule' ? ['crm'] : [],
        signal: new AbortController().signal,
      },
      {
        remember: () => (dropped === 'keep' ? [since] : []),
        prepare: async () => void seen.push(await found()),
      },
    );
    expect(seen).toEqual([{ canaries: 0, names: 0, others: dropped === 'keep' }]);
  });

  test('restore refuses while a daemon is a member of the fleet', async () => {
    const made = await world.run(['backup', 'fleet.pgbackup', '--json'], { env: without });
    expect(made.code).toBe(0);
    await world.admin(
      "INSERT INTO fleet_members (member, version, sources, joined_at, seen_at, schema) VALUES ('far:1:2.3:x', '0', '{}', fleet_clock(), fleet_clock(), 0)",
    );
    const { code, err } = await world.run(['restore', '--force', 'fleet.pgbackup'], { env: without });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/is in use by far:1:2\.3:x\nTry: Stop every rosterd/),
    ]);
    await world.admin('DELETE FROM fleet_members');
    expect((await world.run(['restore', '--force', 'fleet.pgbackup'], { env: without })).code).toBe(0);
  });

  test('a damaged backup is refused before anything is written', async () => {
    await world.run(['backup', 'sound.pgbackup'], { env: without });
    const bytes = readFileSync(at('sound.pgbackup'));
    writeFileSync(at('cut.pgbackup'), bytes);
    truncateSync(at('cut.pgbackup'), Math.floor(bytes.length / 2));
    const text = gunzipSync(bytes).toString('utf8');
    writeFileSync(at('changed.pgbackup'), gzipSync(text.replace('\tco_', '\tcx_')));
    writeFileSync(at('other.pgbackup'), 'nothing of ours');
    const content = await dumpOf(secretOf(world.url));
    for (const [file, code, words] of [
      ['cut.pgbackup', 1, /is damaged or not complete/],
      ['changed.pgbackup', 1, /is damaged or not complete/],
      ['other.pgbackup', 2, /is not a backup of a mirror in PostgreSQL/],
      ['nowhere.pgbackup', 2, /nowhere\.pgbackup cannot be read \(ENOENT\)/],
    ] as const) {
      const answer = await world.run(['restore', '--force', file], { env: without });
      expect([file, answer.code, answer.err]).toEqual([file, code, expect.stringMatching(words)]);
    }
    expect(await dumpOf(secretOf(world.url))).toEqual(content);
  });

  test('a mirror of another schema than the backup is not replaced', async () => {
    await world.run(['backup', 'schema.pgbackup'], { env: without });
    const text = gunzipSync(readFileSync(at('schema.pgbackup'))).toString('utf8');
    const [mark = '', head = '', ...rest] = text.split('\n');
    const { migrations, ...more } = JSON.parse(head);
    const older = JSON.stringify({ ...more, migrations: migrations.slice(0, -1) });
    writeFileSync(at('older.pgbackup'), gzipSync([mark, older, ...rest].join('\n')));
    const { code, err } = await world.run(['restore', '--force', 'older.pgbackup'], { env: without });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/holds a mirror of schema \d+, and the backup is of schema \d+\nTry: .*createdb/),
    ]);
  });
});
