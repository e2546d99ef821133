import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hurriedClock } from '../../support/hurried-clock.js';
import { type FilledMirror, filledMirror } from '../filled-mirror.js';

let world: FilledMirror;

beforeAll(async () => {
  world = await filledMirror(60);
  const file = join(world.folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...config, sync: { brake: { share: 0.1, rows: 5 } } }));
});
afterAll(() => world.close());

const query = (sql: string) => world.inFile((raw) => raw.prepare<[], { readonly id: string }>(sql).all());
/** What differs is read again after two seconds. */
const verify = (...flags: readonly string[]) =>
  world.run(['verify', '--full', '--calls', '500', ...flags], { clock: hurriedClock(2_000) });
const check = async () => {
  const { code, out } = await world.run(['status', '--check', '--json']);
  return { code, ...JSON.parse(out).sources[0] };
};

/** Withdraws records and drops their tombstones from the feed, so that only a listing shows their deletion. */
async function loseSilently(count: number): Promise<readonly string[]> {
  const ids = query('SELECT id FROM investments ORDER BY id').map(({ id }) => id);
  const gone = ids.slice(0, count);
  for (const id of gone) await world.control('DELETE', `/investments/${id}`);
  await world.control('POST', '/clock', { advanceSeconds: 100 * 86_400 });
  return gone;
}

test('deletions beyond the brake await approval, and everything else continues until a person accepts them', async () => {
  await world.sync();
  const gone = await loseSilently(10);
  const create = async () => {
    const { ids } = (await world.control('POST', '/investments', { company: world.company.id })) as {
      ids: [string];
    };
    return ids[0];
  };
  const fresh = await create();

  const listed = await world.run(['sync']);
  expect(listed.code, listed.err).toBe(0);
  expect(listed.out).toMatch(/\nacme +done +relisting +\d+ +1 +\d+ +0 /);
  expect(listed.err).toContain(
    'warning: acme: 10 rows missing from the last listing await deletion; everything else is published',
  );
  expect(listed.err).toContain('rosterd sync --source acme --accept-deletions');
  expect(query('SELECT id FROM awaiting_deletion ORDER BY id')).toEqual(gone.map((id) => ({ id })));
  expect(query(`SELECT count(*) AS n FROM investments WHERE id = '${fresh}'`)).toEqual([{ n: 1 }]);

  expect(await check()).toMatchObject({
    code: 1,
    state: 'following',
    health: 'attention',
    awaiting_deletion: 10,
    deletions_waiting: 10,
  });
  const seen = await world.run(['status']);
  expect(seen.out).toMatch(/following \(attention\)/);
  expect(seen.out).toContain('acme: 10 rows awaiting_deletion, missing from the last listing');

  const later = await create();
  const followed = await world.run(['sync']);
  expect(followed).toMatchObject({
    code: 0,
    err: expect.stringContaining('10 rows missing from the last listing'),
  });
  expect(query(`SELECT count(*) AS n FROM investments WHERE id = '${later}'`)).toEqual([{ n: 1 }]);
  expect(JSON.parse((await world.run(['sync', '--json'])).out)).toMatchObject([
    { source: 'acme', outcome: 'done', code: null, awaitingDeletion: 10, namesNote: null },
  ]);

  const proof = await verify();
  expect(proof.code, proof.err).toBe(4);
  expect(proof.out).toMatch(/\nacme +awaiting /);
  expect(proof.out).toContain('acme: 10 rows awaiting deletion: missing from the last listing');
  expect(proof.out).not.toContain('in the mirror and not on the platform');

  const accepted = await world.run(['sync', '--source', 'acme', '--accept-deletions']);
  expect(accepted.code).toBe(0);
  expect(accepted.err).not.toContain('warning');
  expect(accepted.out).toMatch(/\nacme +done +delta +1 +0 +0 +10 /);
  expect(query('SELECT * FROM awaiting_deletion')).toEqual([]);
  expect(query("SELECT count(*) AS n FROM changes WHERE kind = 'removed'")).toEqual([{ n: 10 }]);
  expect(await check()).toMatchObject({
    code: 0,
    health: 'ok',
    awaiting_deletion: 0,
    deletions_waiting: null,
  });
  expect((await verify()).code).toBe(0);
});

test('verify names a row that awaits deletion although it is on the platform', async () => {
  const [{ id = '' } = {}] = query('SELECT id FROM investments LIMIT 1');
  // The state after a listing that was incomplete, until the next listing.
  world.inFile((raw) => {
    raw
      .prepare(
        `INSERT INTO awaiting_deletion_rows
         SELECT row_no, source_no, 2, '2026-01-01T00:00:00.000Z' FROM investment_rows WHERE id = ?`,
      )
      .run(id);
    raw.exec('UPDATE sources SET awaiting_deletion = 1');
  });
  const { code, out, err } = await verify();
  expect(code).toBe(4);
  expect(out).toContain(`acme: ${id} awaits deletion in the mirror and is on the platform`);
  expect(err).toContain('rosterd verify --source acme --repair');
  expect((await verify('--repair')).code).toBe(0);
  expect(query('SELECT * FROM awaiting_deletion')).toEqual([]);
});
