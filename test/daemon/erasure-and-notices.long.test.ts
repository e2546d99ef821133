import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { SourceName } from '../../src/domain/ids.js';
import { statusOf } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { readMirror } from '../../src/store/reads/read-mirror.js';
import { type SyncOnceEvents, syncOnce } from '../../src/tasks/sync-once.js';
import { tempFolder } from '../store/temp-folder.js';
import { bodyOf } from '../support/body-of.js';
import { testRandom } from '../support/chance.js';
import { copyApart, readApart } from '../support/read-apart.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

async function world(more: Record<string, unknown> = {}) {
  const sandbox = await startSeededSandbox({ seed: 7, companies: 1, records: 40, limits: false });
  const notices: { text: string; id: string; type: string }[] = [];
  const hook = createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (body === null) return;
    notices.push(new Webhook(secret).verify(body, request.headers as Record<string, string>) as never);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    hook.closeAllConnections();
    await new Promise((resolve) => hook.close(resolve));
    await sandbox.close();
  });
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('a world without a company');
  const folder = tempFolder();
  const file = join(folder, 'mirror.db');
  const configOf = (set: Record<string, unknown>, token = company.token) => {
    const path = join(tempFolder(), 'config.json');
    const { port } = hook.address() as AddressInfo;
    writeFileSync(
      path,
      JSON.stringify({
        platform: { baseUrl: sandbox.url },
        database: `sqlite:${file}`,
        sources: [
          { name: 'acme', token: { env: 'T' }, company: company.id, installation: company.installation },
        ],
        console: null,
        sync: { intervalSeconds: 5 },
        notices: [{ kind: 'http', name: 'hook', url: `http://127.0.0.1:${port}/`, secret: { env: 'S' } }],
        ...set,
      }),
    );
    return loadConfig({ file: path, cwd: folder, env: { T: token, S: secret }, flags: [] }).config;
  };
  const parts = (set: Record<string, unknown> = more, token?: string) => ({
    config: configOf(set, token),
    clock: systemClock,
    random: testRandom(),
    logger: silentLogger,
  });
  const control = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${sandbox.url}/_sandbox${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    expect(response.status).toBeLessThan(300);
  };
  const rows = <Row>(table: 'identities' | 'erasures' | 'investments' | 'notices') =>
    readMirror({ kind: 'sqlite', file }, (db) => db.selectFrom(table).selectAll().execute()) as Promise<
      Row[]
    >;
  const sync = (set?: Record<string, unknown>, token?: string, events: SyncOnceEvents = {}) =>
    syncOnce(
      parts(set, token),
      { resync: false, acceptDeletions: false },
      new AbortController().signal,
      events,
    );
  const bytesHold = (text: string) =>
    readdirSync(folder).filter((name) => readApart(join(folder, name)).includes(text));
  return { sandbox, company, file, notices, parts, control, rows, sync, bytesHold };
}

interface Person {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
}

test('the daemon sends a notice of a withdrawal, erases the person at once and scrubs the file soon after', async () => {
  const { control, rows, notices, parts, bytesHold } = await world();
  const daemon = await startDaemon(parts());
  try {
    await daemon.engine.sync.idle();
    const people = await rows<Person>('identities');
    const chosen = people.find(
      ({ email }) => email !== null && people.filter((one) => one.email === email).length === 1,
    );
    const email = chosen?.email ?? '';
    expect(bytesHold(email)).not.toEqual([]);
    await control('DELETE', `/investments/${chosen?.id}`);
    await daemon.engine.sync.tick('acme' as SourceName);
    await expect
      .poll(() => notices.map(({ id, type }) => `${type} ${id}`))
      .toContain(`investment.removed ${chosen?.id}`);
    expect((await rows<Person>('identities')).map(({ id }) => id)).not.toContain(chosen?.id);
    await expect.poll(() => bytesHold(email), { interval: 100 }).toEqual([]);
    expect(JSON.stringify(notices)).not.toContain(email);
  } finally {
    await daemon.close();
  }
});

test('a token without its identity grant, and a configuration that drops identity, erase every name', async () => {
  const { rows, sync, company, control, notices } = await world();
  await sync();
  expect((await rows('identities')).length).toBeGreaterThan(0);
  expect(notices).toEqual([]);
  const [one] = await rows<{ id: string }>('investments');
  await control('PATCH', `/investments/${one?.id}`, { amounts: { committed_cents: 777_700 } });
  await sync(undefined, company.tokenWithoutIdentity);
  expect(await rows('identities')).toEqual([]);
  expect((await rows<{ cause: string }>('erasures')).map(({ cause }) => cause)).toContain('grant_lost');
  expect(notices.map(({ id }) => id)).toEqual([one?.id]);
});

test('a scheduled `rosterd sync` leaves no byte of erased people, not in a pre-migration backup either', async () => {
  const { rows, sync, control, bytesHold, file } = await world();
  await sync();
  const people = await rows<Person>('identities');
  const unique = people.filter(
    ({ email }) => email !== null && people.filter((one) => one.email === email).length === 1,
  );
  const [first, second, third] = unique;
  copyApart(file, `${file}.schema-0001.bak`);
  expect(bytesHold(first?.email ?? '')).toHaveLength(2);
  await control('DELETE', `/investments/${first?.id}`);
  await sync();
  expect(bytesHold(first?.email ?? '')).toEqual([]);

  // The scrub does not wait for a long reader: the erasure stays pending, visible in `status`, until the next run.
  const reader = openSqlite(file, { readonly: true });
  reader.raw.exec('BEGIN');
  reader.raw.prepare('SELECT count(*) FROM investments').get();
  await control('DELETE', `/investments/${second?.id}`);
  await sync();
  const erasures = async () => (await statusOf({ kind: 'sqlite', file }, systemClock)).erasures;
  expect(await erasures()).toMatchObject({ pending: 1, since: expect.stringMatching(/^20/) });
  expect(bytesHold(second?.email ?? '')).not.toEqual([]);
  reader.close();
  await sync();
  expect(await erasures()).toMatchObject({ pending: 0, since: null });
  expect(bytesHold(second?.email ?? '')).toEqual([]);

  // What has the name of a backup and cannot be deleted is reported beside the result of the ticks.
  const undeletable = `${file}.schema-0001.bak`;
  mkdirSync(undeletable);
  await control('DELETE', `/investments/${third?.id}`);
  const unfinished: string[] = [];
  const results = await sync(undefined, undefined, {
    onUnfinished: ({ message }) => void unfinished.push(message),
  });
  expect(results.map(({ report }) => [report.outcome, report.applied.removed])).toEqual([['done', 1]]);
  expect(unfinished).toEqual([
    `backups made before a schema migration cannot be deleted: ${undeletable} (ERR_FS_EISDIR)`,
  ]);
  rmdirSync(undeletable);
  expect(bytesHold(third?.email ?? '')).toEqual([]);
});

test('identity stored under an earlier configuration is erased at the next start with identity "drop"', async () => {
  const { rows, sync } = await world();
  await sync();
  expect((await rows('identities')).length).toBeGreaterThan(0);
  await sync({ identity: 'drop' });
  expect(await rows('identities')).toEqual([]);
  expect((await rows<{ cause: string }>('erasures')).map(({ cause }) => cause)).toEqual(['dropped']);
});
