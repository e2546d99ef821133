import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FilledMirror, filledMirror } from '../filled-mirror.js';

let world: FilledMirror;

beforeAll(async () => {
  world = await filledMirror(40);
});
afterAll(() => world.close());

/** Serves the platform's next page once with one corrupted record. */
async function spoilNextPage(): Promise<void> {
  const { cursor } = JSON.parse((await world.run(['query', 'SELECT cursor FROM sources', '--json'])).out)[0];
  const url = new URL('/investments', world.sandbox.url);
  for (const [name, value] of Object.entries({ company_id: world.company.id, per_page: '100', cursor }))
    url.searchParams.set(name, value as string);
  const answer = await fetch(url, { headers: { authorization: `Bearer ${world.company.token}` } });
  const body = (await answer.json()) as { data: { amounts: { committed_cents: unknown } }[] };
  for (const record of body.data) record.amounts.committed_cents = 2 ** 60;
  await world.control('POST', '/faults', [
    { method: 'GET', path: '/investments', times: 1, action: { status: 200, body } },
  ]);
}

const check = async () => {
  const { code, out } = await world.run(['status', '--check', '--json']);
  return { code, health: JSON.parse(out).health as string };
};

test('sync, status and --check report an unreadable record until a readable version arrives', async () => {
  await world.sync();
  expect(await check()).toEqual({ code: 0, health: 'ok' });
  const { ids } = (await world.control('POST', '/investments', { company: world.company.id })) as {
    ids: string[];
  };
  await spoilNextPage();

  const spoiled = await world.run(['sync']);
  expect(spoiled.code).toBe(1);
  expect(spoiled.out).toMatch(/SET ASIDE.*\nacme +done .* 1 +\d+ ms\n/);
  expect(spoiled.err).toContain('acme: 1 record could not be read and is in quarantine');
  expect(spoiled.err).toContain('rosterd query "SELECT id, problem');
  expect(await check()).toEqual({ code: 1, health: 'attention' });
  const seen = await world.run(['status']);
  expect(seen.out).toMatch(/following \(attention\)/);
  expect(seen.out).toContain('acme: 1 record in quarantine');

  // A run without new records succeeds and still reports the unreadable one.
  const quiet = await world.run(['sync']);
  expect(quiet).toMatchObject({
    code: 0,
    err: expect.stringContaining('warning: acme: 1 record in quarantine'),
  });
  expect(JSON.parse((await world.run(['sync', '--json'])).out)).toMatchObject([
    { source: 'acme', outcome: 'done', applied: { quarantined: 0 }, quarantineOpen: 1 },
  ]);

  await world.control('PATCH', `/investments/${ids[0]}`, { amounts: { committed_cents: 5 } });
  await world.sync();
  expect(await check()).toEqual({ code: 0, health: 'ok' });
});

test('status reports a source that never ran as not started, and one without a configuration as not configured', async () => {
  const file = join(world.folder, 'config.json');
  const config = readFileSync(file, 'utf8');
  writeFileSync(file, config.replace('"name":"acme"', '"name":"later"'));
  const { code, out } = await world.run(['status', '--check']);
  expect(code).toBe(1);
  expect(out).toMatch(/\nlater +not started +0 +never +never +-\n/);
  expect(out).toContain('later: not started: rosterd sync --source later');
  expect(out).toContain('acme: not in the configuration');
  const { sources } = JSON.parse((await world.run(['status', '--json'])).out);
  expect(sources).toMatchObject([{ source: 'acme' }, { source: 'later', state: 'empty', health: 'working' }]);
  writeFileSync(file, config);
});

test('a platform clock that is ahead does not make old data look fresh', async () => {
  await world.control('POST', '/clock', { advanceSeconds: 3 * 86_400 });
  await world.control('POST', '/investments', { company: world.company.id });
  await world.sync();
  expect((await world.run(['status'])).out).toMatch(/ [23] d \d+ h ahead of this clock /);
});

test('status counts webhooks that were given up, its query shows them, and waiting alerts and missing backups are named', async () => {
  world.inFile((raw) =>
    raw.exec(
      "INSERT INTO webhook_inbox (event_id, installation, event, source, investment, received_at, state) VALUES ('evt_1', 'inst_1', 'investment.changed', 'acme', 'inv_1', '2026-11-02T09:00:00.000Z', 'given_up');" +
        "INSERT INTO alert_rows (key, source, target, body, queued_at, next_at) VALUES ('stale', '', 'ops', '{}', '2026-11-02T09:00:00.000Z', '2026-11-02T09:00:00.000Z')",
    ),
  );
  const { out } = await world.run(['status', '--set', 'backup.every=1d', '--set', 'exports.every=1d']);
  expect(out).toMatch(/, alert messages waiting 1 \(the oldest came .+ ago\), erasures pending/);
  expect(out).toMatch(/^no scheduled backup in .+backups yet$/m);
  expect(out).toMatch(/^no scheduled export in .+exports yet$/m);
  const query = /^1 webhook given up: rosterd query "(.*)"$/m.exec(out)?.[1] ?? '';
  expect((await world.run(['query', query])).out).toContain('inv_1');
  world.inFile((raw) =>
    raw.exec("DELETE FROM webhook_inbox WHERE event_id = 'evt_1'; DELETE FROM alert_rows"),
  );
});

test('sync names the source to list again after a changed filter, and no help for a secret file that is not private', async () => {
  const file = join(world.folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { sources: object[] };
  const configure = (source: object) => writeFileSync(file, JSON.stringify({ ...config, sources: [source] }));
  configure({ ...config.sources[0], filters: { offeringId: world.company.offering } });
  expect((await world.run(['sync'])).err).toMatch(
    /\nTry: rosterd sync --source acme --resync, if the change is intended\n$/,
  );
  writeFileSync(join(world.folder, 'open.json'), '{}', { mode: 0o644 });
  configure({ name: 'person', credentials: { file: 'open.json', clientId: 'pk_test_1' } });
  expect((await world.run(['sync'])).err).toMatch(/is open to others .*\(chmod 600 [^\n]*open\.json\)\n$/);
  configure(config.sources[0] ?? {});
});
