import { afterEach, expect, test } from 'vitest';
import type { Engine } from '../../src/daemon/engine.js';
import type { SourceName } from '../../src/domain/ids.js';
import { bootstrapUnderFire } from './bootstrap.js';
import { compared, type Record, type SandboxAndMirror, startSandboxAndMirror } from './sandbox-and-mirror.js';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

const hour = 3_600_000;
const day = 24 * hour;
const tick = async (engine: Engine, name = 'acme', ask = {}) =>
  (await engine.sync.tick(name as SourceName, ask)).report;

async function begun(...[options]: Parameters<typeof startSandboxAndMirror>): Promise<SandboxAndMirror> {
  const world = await startSandboxAndMirror(options);
  opened.push(world);
  return world;
}

const company = (world: SandboxAndMirror, index = 0) => {
  const found = world.companies[index];
  if (found === undefined) throw new Error(`no company ${index}`);
  return found;
};

/** The full size runs separately: `npm run proof:bootstrap`. */
test('P3 a bootstrap of more pages than one hour allows, killed ten times, is complete and repeats at most ten pages', async () => {
  const facts = await bootstrapUnderFire({ records: 1_100, perPage: 1, kills: 10 });
  expect(facts.kills).toBe(10);
  expect(facts.pages).toBeGreaterThan(1_000);
  expect(facts.held).toEqual(facts.truth);
  expect(facts.pagesTwice).toBeLessThanOrEqual(10);
  expect(facts.busiestWindow).toBeLessThanOrEqual(1_000);
  expect(facts.refused).toBe(0);
  expect(facts.hours).toBeLessThan(4);
}, 600_000);

test('P2 P5 a re-listing of 2,000 records after 100 days writes five changes, and a reader never sees fewer rows', async () => {
  const world = await begun({ companies: 1, records: 2_000, limits: true });
  const { id, token } = company(world);
  const counts = new Set<number>();
  const look = () =>
    void counts.add(reader.prepare<[], number>('SELECT count(*) FROM investments').pluck().get() ?? -1);
  let watching = false;
  const engine = await world.engine([{ name: 'acme', token, company: id }], {
    onPage: () => {
      if (watching) look();
    },
  });
  opened.push(engine);
  const reader = world.reader();
  expect((await tick(engine)).outcome).toBe('done');
  const seq = reader.prepare<[], number>('SELECT max(seq) FROM changes').pluck().get();
  const ids = reader
    .prepare<[], string>(
      `SELECT id FROM investments WHERE status = 'active' AND converted_from IS NULL ORDER BY id LIMIT 4`,
    )
    .pluck()
    .all();
  const [first, second, third, gone] = ids;
  for (const changed of [first, second, third])
    await world.control('PATCH', `/investments/${changed}`, { amounts: { committed_cents: 777_700 } });
  await world.control('DELETE', `/investments/${gone}`);
  const created = (await world.control('POST', '/investments', { company: id })) as { ids: [string] };
  world.advance(100 * day);
  look();
  watching = true;
  const report = await tick(engine);
  look();
  expect(report).toMatchObject({ outcome: 'done', mode: 'relisting' });
  expect(report.pages).toBeGreaterThanOrEqual(18);
  expect(reader.prepare('SELECT id, kind FROM changes WHERE seq > ? ORDER BY kind, id').all(seq)).toEqual([
    { id: created.ids[0], kind: 'added' },
    ...[first, second, third].map((changed) => ({ id: changed, kind: 'changed' })),
    { id: gone, kind: 'removed' },
  ]);
  expect(counts.size).toBe(1);
  expect(reader.prepare<[], Record>(`SELECT ${compared} FROM investments ORDER BY id`).all()).toEqual(
    await world.truth(token, { company_id: id }),
  );
});

test('any past state rebuilt from history equals what the platform listed at that moment', async () => {
  const world = await begun({ companies: 1, records: 300, limits: false });
  const { id, token } = company(world);
  const engine = await world.engine([{ name: 'acme', token, company: id }]);
  opened.push(engine);
  const archive: { at: string; truth: readonly Record[] }[] = [];
  for (let round = 0; round < 12; round += 1) {
    // One step lets the position expire, so that a re-listing makes history too.
    world.advance(round === 7 ? 100 * day : hour);
    expect((await tick(engine)).outcome).toBe('done');
    const at = new Date(world.sandbox.clock.now()).toISOString();
    archive.push({ at, truth: await world.truth(token, { company_id: id }) });
    await world.control('POST', '/churn', { changes: 60, company: id });
  }
  const reader = world.reader();
  const asOf = reader.prepare<[{ at: string }], Record>(
    `SELECT ${compared} FROM investments WHERE valid_from <= @at UNION ALL
     SELECT ${compared} FROM investment_history WHERE valid_from <= @at AND @at < valid_to ORDER BY id`,
  );
  for (const { at, truth } of archive) expect(asOf.all({ at })).toEqual(truth);
  expect(new Set(archive.map(({ truth }) => JSON.stringify(truth))).size).toBe(12);
});

test('P11 sources are independent: a revoked grant halts one, and a changed filter is refused until a resync', async () => {
  const world = await begun({ companies: 2, records: 60, limits: true });
  const [one, two] = [company(world, 0), company(world, 1)];
  const [first = '', second = ''] = one.offerings;
  const whole = { name: 'acme', token: one.token, company: one.id };
  const part = { name: 'acme-round', token: one.token, company: one.id };
  const beta = { name: 'beta', token: two.token, company: two.id };
  const engine = await world.engine([whole, { ...part, filters: { offeringId: first } }, beta]);
  const reader = world.reader.bind(world);
  const rows = (source: string) =>
    reader()
      .prepare<[string], Record>(`SELECT ${compared} FROM investments WHERE source = ? ORDER BY id`)
      .all(source);
  for (const name of ['acme', 'acme-round', 'beta']) expect((await tick(engine, name)).outcome).toBe('done');
  const ofOne = { company_id: one.id };
  expect(rows('acme')).toEqual(await world.truth(one.token, ofOne));
  expect(rows('acme-round')).toEqual(await world.truth(one.token, { ...ofOne, offering_id: first }));
  expect(rows('beta')).toEqual(await world.truth(two.token, { company_id: two.id }));
  expect(rows('acme-round').length).toBeLessThan(rows('acme').length);

  const before = rows('beta');
  await world.control('POST', `/installations/${two.installation}/revoke`);
  await world.control('POST', '/churn', { changes: 20, company: one.id });
  world.advance(hour);
  expect((await tick(engine, 'beta')).code).toMatch(/^(?:reauthorize|unauthorized)$/);
  for (const name of ['acme', 'acme-round']) expect((await tick(engine, name)).outcome).toBe('done');
  expect(rows('acme')).toEqual(await world.truth(one.token, ofOne));
  expect(rows('beta')).toEqual(before);
  const states = () =>
    Object.fromEntries(
      reader().prepare<[], [string, string]>('SELECT source, state FROM sync_status').raw().all(),
    );
  expect(states()).toEqual({ acme: 'following', 'acme-round': 'following', beta: 'halted' });
  await engine.close();

  const refiltered = await world.engine([whole, { ...part, filters: { offeringId: second } }, beta]);
  opened.push(refiltered);
  const kept = rows('acme-round');
  expect(await tick(refiltered, 'acme-round')).toMatchObject({ outcome: 'failed', code: 'filters_changed' });
  expect(rows('acme-round')).toEqual(kept);
  expect((await tick(refiltered, 'acme')).outcome).toBe('done');
  const resync = { resync: true, acceptDeletions: true };
  expect((await tick(refiltered, 'acme-round', resync)).outcome).toBe('done');
  expect(rows('acme-round')).toEqual(await world.truth(one.token, { ...ofOne, offering_id: second }));
  expect(states()).toEqual({ acme: 'following', 'acme-round': 'following', beta: 'halted' });
});
