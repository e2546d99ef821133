import { expect, test } from 'vitest';
import type { SourceConfig } from '../../src/config/config.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { freePort } from '../support/free-port.js';
import { configFor, control, freshFolder, partsFor, readerOf, sandboxFor } from './daemon-fixture.js';

const seconds = { interval: 50 };

/** A daemon that begins with the first of three companies, and the other two. */
async function withOneSource() {
  const sandbox = await sandboxFor({ records: 30, companies: 3, limits: false });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const registered = await control(sandbox, 'POST', '/webhooks', { url, events: ['investment.changed'] });
  const { secret } = registered as { secret: string };
  const config = configFor(sandbox, { folder: freshFolder(), receiver: { port, secret } });
  const [listed, ...others] = config.sources;
  if (listed === undefined) throw new Error('a sandbox without a company');
  const daemon = await startDaemon(partsFor({ ...config, sources: [listed] }));
  const rows = (name: string) =>
    readerOf(config)
      .prepare<[string], number>('SELECT count(*) FROM investments WHERE source = ?')
      .pluck()
      .get(name);
  return { sandbox, config, daemon, others: others as [SourceConfig, SourceConfig], rows };
}

test('source set: a source added to a running daemon is listed, follows webhooks, and is gone when removed', async () => {
  const { sandbox, config, daemon, others, rows } = await withOneSource();
  const { engine } = daemon;
  try {
    await engine.sync.idle();
    expect(engine.sources.all.map(({ name }) => name)).toEqual(['c0']);
    const [added] = others;
    await engine.sources.add([added]);
    await engine.sync.idle();
    expect(rows('c1')).toBeGreaterThan(20);
    expect(engine.sources.find('c1')).toBe(added);

    const before = Number(rows('c1'));
    await control(sandbox, 'POST', '/investments', { company: added.company, count: 1 });
    await expect.poll(() => rows('c1'), seconds).toBe(before + 1);

    await engine.sources.remove(['c1' as SourceName]);
    expect(engine.sources.find('c1')).toBeUndefined();
    // The event of a removed source belongs to none: it is stored as ignored.
    const states = () =>
      readerOf(config).prepare('SELECT state FROM webhook_inbox ORDER BY inbox_no').pluck().all();
    await control(sandbox, 'POST', '/investments', { company: added.company, count: 1 });
    await expect.poll(states, seconds).toEqual(['worked', 'ignored']);
    await engine.sync.idle();
    expect(rows('c1')).toBe(before + 1);
  } finally {
    await daemon.close();
  }
});

test('source set: a source that an operator paused does not tick when it is added', async () => {
  const { daemon, others } = await withOneSource();
  const { engine } = daemon;
  try {
    await engine.mirror.pauses.pause(['c1'], instantFromMillis(Date.now()));
    const ticked: string[] = [];
    engine.sync.onTick((source) => void ticked.push(source));
    // The watch reads the pauses once a second.
    await expect
      .poll(async () => {
        await engine.sources.add([others[0]]);
        await engine.sync.idle();
        const isPaused = !ticked.splice(0).includes('c1');
        if (!isPaused) await engine.sources.remove(['c1' as SourceName]);
        return isPaused;
      }, seconds)
      .toBe(true);
  } finally {
    await daemon.close();
  }
});
