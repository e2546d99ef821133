import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { SourceName } from '../../src/domain/ids.js';
import { askDaemons } from '../../src/reading/daemon-address.js';
import type { SourceStatus } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';
import { followingConfig } from './following-fixture.js';

const c0 = 'c0' as SourceName;

test('status, /status.json and the dashboard show how webhooks are spaced now, and why', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10, limits: false });
  const folder = freshFolder();
  const { platform, ...config } = configFor(sandbox, { folder });
  const limited = { ...config, platform: { ...platform, requestsPerHour: 100 } };
  const daemon = await startDaemon(partsFor(limited));
  onTestFinished(() => daemon.close());
  const { sync, dimensions } = daemon.engine;
  await sync.idle();
  // The listing of companies and rounds spends requests of the same quota.
  await dimensions?.idle();

  const get = async (path: string) => (await fetch(`${daemon.consoleUrl}${path}`)).text();
  const printed = async (...flags: string[]) =>
    (
      await rosterd(
        ['status', '--database', `sqlite:${join(folder, 'mirror.db')}`, ...flags],
        fakeIo({ cwd: folder, env: {}, clock: systemClock }),
      )
    ).out;
  const seen = async () => {
    const documents = [await get('/status.json'), await printed('--json')];
    const [served, shown] = documents.map(
      (text) => (JSON.parse(text) as { sources: SourceStatus[] }).sources[0],
    );
    expect(shown?.webhook_spacing).toEqual(served?.webhook_spacing);
    return served?.webhook_spacing;
  };

  expect(await seen()).toMatchObject({
    reason: 'plenty',
    gap_seconds: 0,
    wait_seconds: 0,
    quota: { of: 'token', limit: 100 },
  });
  expect(await printed()).toMatch(/CURSOR +WEBHOOKS\nc0 .* at once\n/);
  expect(await get('/operations')).toContain('<dt>Webhooks</dt><dd>read at once</dd>');

  for (let left = 100; left > 30; left = sync.spacingOf(c0).by?.left ?? 0) {
    sync.nudge(c0);
    await new Promise<void>((resolve) => {
      const off = sync.onTick(() => {
        off();
        resolve();
      });
      if (sync.spacingOf(c0).waitMillis > 0) void sync.tick(c0);
    });
  }
  const scarce = sync.spacingOf(c0);
  expect(scarce).toMatchObject({ reason: 'scarce', by: { kind: 'token', limit: 100, left: 30 } });
  expect(await askDaemons(config.database, null, systemClock)).toMatchObject({
    spacings: { c0: { reason: 'scarce', quota: { left: 30 } } },
    since: expect.stringMatching(/^20\d\d-.*Z$/),
  });
  expect(await printed()).toMatch(
    /c0 .* every \d.*\nc0: after a webhook, the feed is read at most every .*: 30 of 100 requests of the token are left until 20\d\d-.*Z\n/,
  );
  expect(await get('/operations')).toMatch(/read every [^<]+: the quota has to last until it resets/);
});

test('status shows how webhooks of a followed source are spaced', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10 });
  const config = followingConfig(sandbox, { folder: freshFolder() });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  const { sources } = daemon.engine;
  await expect.poll(() => sources.all, { interval: 25 }).toHaveLength(1);
  const { spacings } = await askDaemons(config.database, config, systemClock);
  expect(Object.keys(spacings)).toEqual(sources.all.map(({ name }) => name));
});

test('without a daemon, status has no spacing to show', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10, limits: false });
  const folder = freshFolder();
  const daemon = await startDaemon(partsFor(configFor(sandbox, { folder })));
  await daemon.engine.sync.idle();
  await daemon.close();
  const flags = ['status', '--database', `sqlite:${join(folder, 'mirror.db')}`];
  const io = () => fakeIo({ cwd: folder, env: {}, clock: systemClock });
  expect((await rosterd(flags, io())).out).not.toContain('WEBHOOKS');
  const { sources } = JSON.parse((await rosterd([...flags, '--json'], io())).out) as {
    sources: SourceStatus[];
  };
  expect(sources.map(({ webhook_spacing }) => webhook_spacing)).toEqual([null]);
});
