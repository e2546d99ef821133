import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { demoQueries } from '../../../src/cli/commands/demo.js';
import { defaultPlan } from '../../../src/platform/sandbox/world.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { freePort } from '../../support/free-port.js';
import { openRaw } from '../../support/open-raw.js';
import { fakeIo, rosterd, stopped } from '../fake-io.js';
import { filledMirror } from '../filled-mirror.js';

function folderFor(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-following-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a command that continues until a signal; always ends with the test. */
function running(args: readonly string[], cwd: string) {
  const io = fakeIo({ cwd, clock: systemClock });
  const ended = rosterd(args, io);
  const stop = async () => {
    io.signals.emit('SIGTERM');
    return await ended;
  };
  return { io, stop, ended };
}

async function query(cwd: string, ...args: readonly string[]) {
  return await rosterd(['query', ...args], fakeIo({ cwd, clock: systemClock }));
}

test('demo mirrors a made-up platform, prints its addresses, and its example queries run', async () => {
  const cwd = folderFor();
  const { io, stop } = running(['demo', '--records', '60', '--pause', '250'], cwd);
  await expect.poll(() => io.out()).toContain('npx rosterd query');
  expect(io.out()).toMatch(/platform {3}http:\/\/127\.0\.0\.1:\d+/);
  expect(io.out()).toContain(join(cwd, 'data/mirror.db'));
  await expect.poll(() => io.err()).toMatch(/\(webhook, \d+ ms\)/);
  for (const sql of demoQueries) {
    expect(io.out()).toContain(sql);
    const { code, out } = await query(cwd, sql);
    expect([code, out.trim().split('\n').length > 1]).toEqual([0, true]);
  }
  // A second demo on the same file is rejected, and the first continues. After a stop the lock is released.
  const beside = await running(['demo', '--records', '60'], cwd).ended;
  expect(beside).toMatchObject({ code: 2, out: '' });
  expect(beside.err).toContain(
    `is running on ${join(cwd, 'data/mirror.db')} already: process ${process.pid} of`,
  );
  expect((await query(cwd, demoQueries[0])).code).toBe(0);
  expect(await stop()).toMatchObject({ code: 0 });
  expect(existsSync(join(cwd, 'data/mirror.db.demo.lock'))).toBe(false);
  // Again with the same file: another platform with the same people is accepted.
  const again = running(['demo', '--records', '60'], cwd);
  await expect.poll(() => again.io.out()).toContain('npx rosterd query');
  expect(await again.stop()).toMatchObject({ code: 0 });
  expect(again.io.err()).not.toContain('waits for a human');
});

test('demo and run that a signal stops while they start print no address', async () => {
  const demo = await rosterd(
    ['demo', '--records', '60'],
    fakeIo({ cwd: folderFor(), clock: systemClock, ...stopped }),
  );
  expect(demo).toMatchObject({ code: 0, out: '' });
  expect(demo.err).not.toContain('Ctrl-C stops the demo');
  const world = await filledMirror(20);
  onTestFinished(() => world.close());
  const run = await world.run(['run', '--set', 'console.listen=127.0.0.1:0'], stopped);
  expect(run.code).toBe(0);
  expect(run.err).not.toMatch(/dashboard at|mirroring into/);
});

test('sync that a signal stops says that fetched pages are kept', async () => {
  const world = await filledMirror(20);
  onTestFinished(() => world.close());
  const { code, err } = await world.run(['sync'], stopped);
  expect([code, err]).toEqual([
    5,
    expect.stringMatching(/^error: acme: .+\nThe fetched pages are kept\. Try: rosterd sync$/m),
  ]);
});

test('a second run on the same mirror names the daemon that has its port', async () => {
  const world = await filledMirror(20);
  onTestFinished(() => world.close());
  const args = ['run', '--set', `console.listen=127.0.0.1:${await freePort()}`];
  const io = world.io();
  const first = rosterd(args, io);
  await expect.poll(() => io.err()).toContain('mirroring into');
  const second = await world.run(args);
  io.signals.emit('SIGTERM');
  expect((await first).code).toBe(0);
  expect(second.code).toBe(2);
  expect(second.err).toContain(
    `error: the daemon (process ${process.pid}) already mirrors into ${join(world.folder, 'mirror.db')}\nTry: rosterd status`,
  );
});

test('demo does not overwrite a file that is not its own', async () => {
  const cwd = folderFor();
  writeFileSync(join(cwd, 'mine.db'), 'precious');
  const { code, err } = await rosterd(['demo', '--database', 'mine.db'], fakeIo({ cwd, clock: systemClock }));
  expect(code).toBe(2);
  expect(err).toContain('was not made by a demonstration');
});

test('sandbox, sync, status and query work together as the README says', async () => {
  const cwd = folderFor();
  const sandbox = running(['sandbox', '--records', '120', '--companies', '2', '--seed', '7'], cwd);
  await expect.poll(() => sandbox.io.out()).toContain('\n');
  const ready = JSON.parse(sandbox.io.out()) as {
    event: string;
    baseUrl: string;
    companies: { id: string; token: string; investments: number }[];
  };
  expect(ready.event).toBe('ready');
  const sources = ready.companies.map(({ id, token }, index) => ({ name: `c${index}`, token, company: id }));
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ platform: { baseUrl: ready.baseUrl }, sources }));
  const io = () => fakeIo({ cwd, clock: systemClock });

  const synced = await rosterd(['sync', '--json'], io());
  expect(synced.code).toBe(0);
  expect(JSON.parse(synced.out)).toMatchObject([
    { source: 'c0', outcome: 'done', mode: 'listing' },
    { source: 'c1', outcome: 'done', mode: 'listing' },
  ]);
  const status = await rosterd(['status', '--json', '--check'], io());
  expect(status.code).toBe(0);
  expect(JSON.parse(status.out)).toMatchObject({
    health: 'ok',
    sources: [{ source: 'c0' }, { source: 'c1' }],
  });

  const daemon = running(['run', '--set', 'console.listen=127.0.0.1:0'], cwd);
  await expect.poll(() => daemon.io.err()).toContain('Ctrl-C to stop');
  const second = await rosterd(['sync', '--source', 'nobody'], io());
  expect([second.code, second.err]).toEqual([2, expect.stringContaining('no source is called "nobody"')]);
  expect(await daemon.stop()).toMatchObject({ code: 0 });
  expect(await sandbox.stop()).toMatchObject({ code: 0 });

  const gone = await rosterd(['sync'], io());
  expect(gone.code).toBe(1);
  expect(gone.err).toContain('could not be reached');
  expect((await rosterd(['status', '--check'], io())).code).toBe(1);
});

test('sandbox names --data when its file cannot be used, and not the address', async () => {
  const cwd = folderFor();
  const text = join(cwd, 'text.db');
  writeFileSync(text, 'this is a text and no database, and longer than the header of one '.repeat(9));
  for (const [file, code] of [
    [join(cwd, 'missing/w.json'), 'ENOENT'],
    [cwd, 'EISDIR'],
    [join(cwd, 'x'.repeat(300)), 'ENAMETOOLONG'],
    [text, 'SQLITE_NOTADB'],
  ]) {
    const ended = await running(['sandbox', '--listen', '127.0.0.1:0', '--data', file ?? ''], cwd).ended;
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toMatch(`error: --data: ${file} cannot be used (${code})\nTry: name a sandbox's file`);
  }
});

test('sandbox logs why a request failed', async () => {
  const file = join(folderFor(), 'world.db');
  const started = async () => {
    const args = ['sandbox', '--records', '1', '--companies', '1', '--data', file];
    const one = running(args, folderFor());
    await expect.poll(() => one.io.out()).toContain('\n');
    return one;
  };
  await (await started()).stop();
  // As on a full disk: every write fails.
  const raw = openRaw(file);
  raw.exec("CREATE TRIGGER full BEFORE UPDATE ON feed BEGIN SELECT raise(ABORT, 'no room'); END");
  raw.close();
  const { io, stop } = await started();
  const { control, companies } = JSON.parse(io.out()) as { control: string; companies: { id: string }[] };
  const answer = await fetch(`${control}/investments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ company: companies[0]?.id }),
  });
  expect(answer.status).toBe(500);
  expect(io.err()).toMatch(/"class":"SqliteError","code":"SQLITE_CONSTRAINT_TRIGGER".*"request crashed"/);
  expect(await stop()).toMatchObject({ code: 0 });
});

test('two sandbox runs with the same seed have the same data', async () => {
  const printed: string[] = [];
  for (const run of [1, 2]) {
    const { io, stop } = running(['sandbox', '--records', '20', '--seed', '5'], folderFor());
    await expect.poll(() => io.out(), { message: `run ${run}` }).toContain('\n');
    printed.push(io.out().replaceAll(/127\.0\.0\.1:\d+/g, 'here'));
    await stop();
  }
  expect(printed[0]).toBe(printed[1]);
});

test('sandbox --import adds the world of a file of its folder, and a wrong line ends it with its number', async () => {
  const cwd = folderFor();
  const company = JSON.stringify({ type: 'company', id: 'co_acme', name: 'Acme' });
  writeFileSync(join(cwd, 'world.jsonl'), `${company}\n`);
  const args = ['sandbox', '--records', '1', '--companies', '1', '--import', 'world.jsonl'];
  const { io, stop } = running(args, cwd);
  await expect.poll(() => io.out()).toContain('\n');
  const { companies } = JSON.parse(io.out()) as { companies: { id: string }[] };
  expect(companies.map(({ id }) => id)).toContain('co_acme');
  await stop();
  writeFileSync(join(cwd, 'world.jsonl'), `${company}\n${company}\n`);
  const ended = await running(args, cwd).ended;
  expect(ended).toMatchObject({ code: 2, out: '' });
  expect(ended.err).toContain(`--import: ${join(cwd, 'world.jsonl')} line 2: companies.id is used already`);
});

test('sandbox --installed leaves a share of the companies without an installation', async () => {
  const args = ['sandbox', '--records', '1', '--companies', '5', '--installed', '0.4'];
  const { io, stop } = running(args, folderFor());
  await expect.poll(() => io.out()).toContain('\n');
  const { companies, uninstalled } = JSON.parse(io.out()) as { companies: object[]; uninstalled: object[] };
  expect([companies.length, uninstalled.length]).toEqual([2, 3]);
  await stop();
  for (const share of ['1.1', '-0.5', 'half', '.5']) {
    const { code, err } = await rosterd(['sandbox', `--installed=${share}`], fakeIo());
    expect([code, err]).toEqual([
      2,
      `error: --installed is "${share}"\nTry: a share from 0 to 1, such as 0.8\n`,
    ]);
  }
});

test('sandbox --help states the defaults that the sandbox uses', async () => {
  const { out } = await rosterd(['sandbox', '--help'], fakeIo({ columns: 200 }));
  expect(out).toMatch(new RegExp(`--companies .*default: ${defaultPlan.companies}\\)`));
  expect(out).toMatch(new RegExp(`--records .*default: ${defaultPlan.records}\\)`));
  expect(out).toMatch(new RegExp(`--seed .*default: ${defaultPlan.seed}\\)`));
  expect(out).toMatch(new RegExp(`--installed .*default: ${defaultPlan.installed}\\)`));
});

test('sandbox --request-id-header renames the header, and --allow-loopback-webhooks accepts this machine', async () => {
  const flags = ['--header-prefix', 'Acme', '--request-id-header', 'X-Acme-Id', '--allow-loopback-webhooks'];
  const { io, stop } = running(['sandbox', '--records', '1', '--companies', '1', ...flags], folderFor());
  await expect.poll(() => io.out()).toContain('\n');
  const { baseUrl, users } = JSON.parse(io.out()) as { baseUrl: string; users: { liveToken: string }[] };
  const answer = await fetch(`${baseUrl}/webhook_endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${users[0]?.liveToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://127.0.0.1:9/hook', events: ['investment.changed'], mode: 'test' }),
  });
  expect([answer.status, answer.headers.get('x-acme-id')]).toEqual([201, expect.stringMatching(/^req_/)]);
  expect(answer.headers.get('x-service-request-id')).toBeNull();
  await stop();
  const wrong = await rosterd(['sandbox', '--request-id-header', 'X Id'], fakeIo());
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--request-id-header is "X Id"')]);
});
