import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { createMirror } from '../../src/daemon/library.js';
import { storedSources } from '../../src/daemon/stored-sources.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { backUp } from '../../src/tasks/backup.js';
import { restore } from '../../src/tasks/restore.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { verify } from '../../src/tasks/verify.js';
import { freePort } from '../support/free-port.js';
import { manualClock } from '../support/manual-clock.js';
import { readApart } from '../support/read-apart.js';
import { control, freshFolder, partsFor, readerOf, sandboxFor } from './daemon-fixture.js';
import { followingConfig } from './following-fixture.js';

const soon = { interval: 25 };

interface Following {
  readonly sandbox: Sandbox;
  readonly config: Config;
  readonly folder: string;
  readonly daemon: Daemon;
}

async function follow(sandbox: Sandbox, more: Readonly<Record<string, unknown>> = {}): Promise<Following> {
  const folder = freshFolder();
  const port = await freePort();
  const { secret } = (await control(sandbox, 'POST', '/webhooks', {
    url: `http://127.0.0.1:${port}/webhooks`,
    events: ['investment.changed', 'installation.created', 'installation.revoked'],
  })) as { secret: string };
  const config = followingConfig(sandbox, { folder, rule: more, receiver: { port, secret } });
  return { sandbox, config, folder, daemon: await startDaemon(partsFor(config)) };
}

const rowsOf = ({ config }: Following) =>
  readerOf(config)
    .prepare('SELECT source, count(*) AS n FROM investments GROUP BY source ORDER BY source')
    .all() as { source: string; n: number }[];

const registryOf = ({ config }: Following) =>
  readerOf(config)
    .prepare(
      'SELECT source, target, installation, state, reason, mints, erased_rows FROM followed_sources ORDER BY source',
    )
    .all() as {
    source: string;
    target: string;
    installation: string;
    state: string;
    reason: string | null;
    mints: number;
    erased_rows: number | null;
  }[];

const tokensIn = (folder: string) =>
  readdirSync(join(folder, 'vault')).filter((name) => !name.startsWith('.'));

test('every company that installed the application becomes a source, with one narrowed token in a private file', async () => {
  const sandbox = await sandboxFor({ companies: 3, records: 40 });
  const following = await follow(sandbox, { scopes: ['read:investments'], identity: 'drop' });
  const { daemon, folder, config } = following;
  try {
    await expect.poll(() => rowsOf(following), soon).toHaveLength(3);
    await daemon.engine.sync.idle();
    for (const { n } of rowsOf(following)) expect(n).toBeGreaterThan(30);
    const registry = registryOf(following);
    expect(registry.map(({ state, mints }) => ({ state, mints }))).toEqual(
      registry.map(() => ({ state: 'connected', mints: 1 })),
    );
    expect(new Set(registry.map(({ target }) => target))).toEqual(
      new Set(sandbox.ready.companies.map(({ id }) => id)),
    );
    const files = tokensIn(folder);
    expect(files).toHaveLength(3);
    for (const file of files) expect(statSync(join(folder, 'vault', file)).mode & 0o777).toBe(0o600);
    const token = readFileSync(join(folder, 'vault', files[0] as string), 'utf8').trim();
    expect(token).toMatch(/^at_test_/);
    const identities = readerOf(config).prepare('SELECT count(*) FROM identities').pluck().get();
    expect(identities).toBe(0);
    expect(readApart(join(folder, 'mirror.db')).includes(token)).toBe(false);
  } finally {
    await daemon.close();
  }
});

test('a rule that no longer keeps names erases the stored ones after the restart, and verify finds no difference', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 20 });
  const folder = freshFolder();
  const keeping = followingConfig(sandbox, { folder });
  const first = await startDaemon(partsFor(keeping));
  const identities = () => readerOf(keeping).prepare('SELECT count(*) FROM identities').pluck().get();
  await expect.poll(identities, soon).toBeGreaterThan(10);
  await first.close();

  // Its token was made before, so it can still read names.
  const dropping = followingConfig(sandbox, { folder, rule: { identity: 'drop' } });
  const second = await startDaemon(partsFor(dropping));
  try {
    await expect.poll(identities, soon).toBe(0);
  } finally {
    await second.close();
  }
  const sources = await storedSources(dropping);
  const wanted = { sample: 5, seed: 7, full: true, calls: 200, repair: false, pauseMillis: 1 };
  const receipt = await verify({ ...partsFor(dropping), sources }, wanted, new AbortController().signal);
  expect(receipt.sources).toMatchObject([{ outcome: 'equal', sample: { compared: 5 }, drift: [] }]);
});

test('names of a source whose rule drops them are gone when a restore ends, before any tick', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 20 });
  const folder = freshFolder();
  const keeping = followingConfig(sandbox, { folder });
  const first = await startDaemon(partsFor(keeping));
  const identities = () => readerOf(keeping).prepare('SELECT count(*) FROM identities').pluck().get();
  await expect.poll(identities, soon).toBeGreaterThan(10);
  await first.close();
  const backup = join(folder, 'before.db');
  const asked = { clock: systemClock, env: {}, signal: new AbortController().signal, force: true };
  await backUp({ ...asked, location: keeping.database, target: backup, isFolder: false });

  const place = { folder, database: 'sqlite:restored.db' };
  const dropping = followingConfig(sandbox, { ...place, rule: { identity: 'drop' } });
  await restore({ ...asked, config: dropping, backup });
  expect(readerOf(dropping).prepare('SELECT count(*) FROM investments').pluck().get()).toBeGreaterThan(10);
  expect(readerOf(dropping).prepare('SELECT count(*) FROM identities').pluck().get()).toBe(0);
});

test.each(['a token', 'a sign-in'])(
  'companies are followed as soon as %s of the rule is replaced, without the wait after a refusal',
  async (kind) => {
    const sandbox = await sandboxFor({ companies: 2, records: 10 });
    const owner = sandbox.ready.users.find(({ email }) => email.startsWith('owner'));
    const folder = freshFolder();
    const file = join(folder, 'manager');
    const keep = (accessToken: string) =>
      writeFileSync(
        file,
        kind === 'a token'
          ? accessToken
          : JSON.stringify({ clientId: 'pk_test_1', accessToken, refreshToken: null, scope: '' }),
        { mode: 0o600 },
      );
    keep('at_test_revoked');
    const access =
      kind === 'a token'
        ? { token: { file } }
        : { token: undefined, credentials: { file, clientId: 'pk_test_1' } };
    const config = followingConfig(sandbox, { folder, rule: access });
    const clock = manualClock(Date.now());
    const daemon = await startDaemon({ ...partsFor(config), clock });
    let passed = 0;
    /** Lets less time pass than the wait after a refusal, which is a minute. */
    const pass = () => {
      if (passed >= 50_000) return;
      passed += 50;
      clock.advance(50);
    };
    const problems = () => daemon.engine.health.list().map(({ key }) => key);
    try {
      await expect.poll(problems, soon).toContain('follow.installations');
      pass();
      keep(owner?.token ?? '');
      const states = readerOf(config).prepare('SELECT state FROM followed_sources').pluck();
      const connected = () => {
        pass();
        return states.all();
      };
      await expect.poll(connected, soon).toEqual(['connected', 'connected']);
      await expect.poll(problems, soon).not.toContain('follow.installations');
    } finally {
      const closed = daemon.close();
      clock.advance(1_000);
      await closed;
    }
  },
);

test('a company that installs becomes a source by its event, and one that revokes is disconnected and erased', async () => {
  const sandbox = await sandboxFor({ companies: 3, records: 30, installed: 0.67 });
  const following = await follow(sandbox, { afterRevoke: { keepDays: 0 } });
  const { daemon } = following;
  try {
    await expect.poll(() => rowsOf(following), soon).toHaveLength(2);
    await control(sandbox, 'POST', '/installations', { all: true });
    await expect.poll(() => rowsOf(following), soon).toHaveLength(3);
    const [first] = registryOf(following);
    if (first === undefined) throw new Error('there are three');
    await control(sandbox, 'POST', `/installations/${first.installation}/revoke`, {});
    await expect
      .poll(() => registryOf(following).find(({ source }) => source === first.source), soon)
      .toMatchObject({ state: 'erased', reason: 'revoked' });
    expect(rowsOf(following)).toHaveLength(2);
    expect(tokensIn(following.folder)).toHaveLength(2);
    expect(daemon.engine.sources.find(first.source)).toBeUndefined();
  } finally {
    await daemon.close();
  }
});

test('a company that installs again within its time continues its history after a listing', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const following = await follow(sandbox);
  const { daemon, config } = following;
  try {
    await expect.poll(() => rowsOf(following), soon).toHaveLength(1);
    await daemon.engine.sync.idle();
    const [before] = registryOf(following);
    const [{ n } = { n: 0 }] = rowsOf(following);
    await control(sandbox, 'POST', '/installations/reinstall', { all: true });
    await expect.poll(() => registryOf(following)[0]?.installation !== before?.installation, soon).toBe(true);
    await expect.poll(() => registryOf(following)[0]?.state, soon).toBe('connected');
    const relisted = () =>
      readerOf(config)
        .prepare("SELECT count(*) FROM ticks WHERE mode = 'relisting' AND outcome = 'done'")
        .pluck()
        .get();
    await expect.poll(relisted, soon).toBe(1);
    expect(rowsOf(following)).toEqual([{ source: before?.source, n }]);
    const changes = readerOf(config)
      .prepare("SELECT count(*) FROM changes WHERE kind IN ('removed', 'changed')")
      .pluck()
      .get();
    expect(changes).toBe(0);
  } finally {
    await daemon.close();
  }
});

test('a daemon that starts again uses the tokens it has, also while the platform is away', async () => {
  const sandbox = await sandboxFor({ companies: 2, records: 20 });
  const following = await follow(sandbox);
  await expect.poll(() => rowsOf(following), soon).toHaveLength(2);
  await following.daemon.close();
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/installations', times: 100, action: { status: 503 } },
  ]);
  const again = await startDaemon(partsFor(following.config));
  try {
    expect(again.engine.sources.all).toHaveLength(2);
    await again.engine.sync.idle();
    const ticked = readerOf(following.config)
      .prepare("SELECT count(*) FROM ticks WHERE trigger = 'start' AND outcome = 'done'")
      .pluck()
      .get();
    expect(Number(ticked)).toBeGreaterThanOrEqual(2);
    expect(registryOf(following).map(({ mints }) => mints)).toEqual([1, 1]);
  } finally {
    await again.close();
  }
});

test('a list that lacks installations disconnects none', async () => {
  const sandbox = await sandboxFor({ companies: 3, records: 20 });
  const following = await follow(sandbox);
  await expect.poll(() => rowsOf(following), soon).toHaveLength(3);
  await following.daemon.close();
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/installations', times: 100, action: { omit: 2, recount: true } },
  ]);
  const again = await startDaemon(partsFor(following.config));
  try {
    await again.engine.sync.idle();
    expect(registryOf(following).map(({ state }) => state)).toEqual(['connected', 'connected', 'connected']);
  } finally {
    await again.close();
  }
});

test('a rule that is no longer configured disconnects its sources and keeps their rows', async () => {
  const sandbox = await sandboxFor({ companies: 2, records: 20 });
  const following = await follow(sandbox);
  await expect.poll(() => rowsOf(following), soon).toHaveLength(2);
  await following.daemon.close();
  const [company] = sandbox.ready.companies;
  const listed = {
    ...following.config,
    follows: [],
    sources: ruleless(sandbox, following.folder),
  };
  const again = await startDaemon(partsFor(listed));
  try {
    await expect
      .poll(() => registryOf(following).map(({ reason }) => reason), soon)
      .toEqual(['rule_removed', 'rule_removed']);
    expect(rowsOf(following).filter(({ source }) => source !== 'listed')).toHaveLength(2);
    // Tokens are removed after that is stored.
    await expect.poll(() => tokensIn(following.folder), soon).toHaveLength(0);
    expect(company).toBeDefined();
  } finally {
    await again.close();
  }
});

test('a single sync finds what is installed, then syncs it; a rule that cannot be read is reported and stops nothing', async () => {
  const sandbox = await sandboxFor({ companies: 2, records: 20, installed: 0.5 });
  const config = followingConfig(sandbox, { folder: freshFolder() });
  const never = new AbortController().signal;
  const unfollowed: string[] = [];
  const sync = () =>
    syncOnce(partsFor(config), {}, never, { onUnfollowed: (rule) => void unfollowed.push(rule) });
  expect((await sync()).map(({ report }) => report.mode)).toEqual(['listing']);
  await control(sandbox, 'POST', '/installations', { all: true });
  expect((await sync()).map(({ report }) => report.mode).sort()).toEqual(['delta', 'listing']);
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/installations', times: 100, action: { status: 503 } },
  ]);
  expect(unfollowed).toEqual([]);
  expect((await storedSources(config)).map(({ followed }) => followed?.rule)).toEqual([
    'installations',
    'installations',
  ]);
  const sources = await storedSources(config);
  const results = await syncOnce({ ...partsFor(config), sources }, {}, never, {
    onUnfollowed: (rule) => void unfollowed.push(rule),
  });
  expect(results.map(({ report }) => report.mode)).toEqual(['delta', 'delta']);
  expect(unfollowed).toEqual(['installations']);
});

test('the library reports sources that come and go to its listeners, also after one that throws or rejects', async () => {
  const sandbox = await sandboxFor({ companies: 2, records: 10, installed: 0.5 });
  const folder = freshFolder();
  const owner = sandbox.ready.users.find(({ email }) => email.startsWith('owner'));
  const port = await freePort();
  const { secret } = (await control(sandbox, 'POST', '/webhooks', {
    url: `http://127.0.0.1:${port}/webhooks`,
    events: ['installation.created', 'installation.revoked'],
  })) as { secret: string };
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (_, message) => void logged.push(message),
    child: () => logger,
  };
  const mirror = await createMirror({
    config: {
      platform: { baseUrl: sandbox.ready.baseUrl },
      database: 'sqlite:mirror.db',
      sources: [{ follow: 'installations', token: { env: 'MANAGER' } }],
      receiver: { listen: `127.0.0.1:${port}`, secrets: [{ env: 'HOOK' }] },
    },
    cwd: folder,
    env: { MANAGER: owner?.token, HOOK: secret },
    logger,
  });
  const heard: string[] = [];
  mirror.onSources(() => {
    throw new Error('mine');
  });
  // An unhandled rejection would end the program.
  mirror.onSources(async () => {
    throw new Error('mine');
  });
  mirror.onSources(({ added, disconnected }) => {
    for (const name of added) heard.push(`added ${name}`);
    for (const name of disconnected) heard.push(`disconnected ${name}`);
  });
  try {
    await mirror.start();
    await expect.poll(() => heard.length, soon).toBe(1);
    await control(sandbox, 'POST', '/installations', { all: true });
    await expect.poll(() => heard.length, soon).toBe(2);
    await control(sandbox, 'POST', '/installations/revoke', { all: true });
    await expect.poll(() => heard.length, soon).toBe(4);
    const names = heard.slice(0, 2).map((line) => line.replace('added ', ''));
    expect(heard.slice(2).sort()).toEqual(names.map((name) => `disconnected ${name}`).sort());
    const failed = logged.filter((message) => message === 'a listener for sources failed');
    // Of the four names, the last two may come in one change.
    expect([6, 8]).toContain(failed.length);
  } finally {
    await mirror.stop();
  }
});

function ruleless({ ready }: Sandbox, folder: string): Config['sources'] {
  const [company] = ready.companies;
  return configFrom(
    settingsSchema.parse({
      platform: { baseUrl: ready.baseUrl },
      database: 'sqlite:mirror.db',
      sources: [{ name: 'listed', token: company?.token, company: company?.id }],
    }),
    { env: {}, folderOf: () => folder },
  ).sources;
}
