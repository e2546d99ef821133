import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import type { FullStatus } from '../../src/reading/status.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { Scrubber } from '../../src/store/scrub-messages.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

test('a mirror in a file says that ticks wait while it is rewritten, and since when', async () => {
  const folder = freshFolder();
  let waits: unknown;
  const scrub: Scrubber = async ({ way }) => {
    if (way === 'in place') return null;
    waits = mirror.waits();
    return { kind: 'clean' };
  };
  const mirror = await openMirror(
    { kind: 'sqlite', file: join(folder, 'mirror.db') },
    {
      ...{ clock: systemClock, logger: silentLogger, identity: 'keep', scrub },
      ledger: new ForgottenLedger(join(folder, 'forget.ledger')),
    },
  );
  onTestFinished(() => mirror.close());
  const before = new Date().toISOString();
  await mirror.upkeep.scrub(0, new AbortController().signal);
  expect(waits).toEqual([
    {
      key: 'rewrite',
      text: expect.stringContaining('is being rewritten'),
      since: expect.toSatisfy((since: string) => since >= before),
    },
  ]);
  expect(mirror.waits()).toEqual([]);
});

test('status, its page and the dashboard of a daemon say what ticks wait for', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10 });
  const folder = freshFolder();
  const config = configFor(sandbox, { folder });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  const get = async (path: string) => (await fetch(`${daemon.consoleUrl}${path}`)).text();
  const status = async (...flags: string[]) => {
    const words = ['status', '--database', `sqlite:${join(folder, 'mirror.db')}`, ...flags];
    return (await rosterd(words, fakeIo({ cwd: folder, env: {}, clock: systemClock }))).out;
  };
  expect((JSON.parse(await status('--json')) as FullStatus).waits).toEqual([]);

  const since = new Date(Date.now() - 5 * 60_000).toISOString();
  const waits = [{ key: 'rewrite', text: 'the file is being rewritten, and ticks wait', since }];
  Object.assign(daemon.engine.mirror, { waits: () => waits });
  for (const text of [await status('--json'), await get('/status.json')])
    expect(JSON.parse(text)).toMatchObject({ waits });
  expect(await status()).toMatch(/^the file is being rewritten, and ticks wait \(since .+ ago\)$/m);
  for (const path of ['/', '/operations'])
    expect(await get(path)).toContain('the file is being rewritten, and ticks wait. <span');
});
