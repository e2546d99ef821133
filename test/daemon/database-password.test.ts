import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { rotatingLogin } from '../postgres/rotating-login.js';
import { freshFolder } from './daemon-fixture.js';

test('a daemon whose database password is replaced goes on with the new one, on every connection', async () => {
  const { url, replace } = await rotatingLogin();
  let password = 'first';
  const mirror = await openMirror(
    { kind: 'postgres', url, password: { reveal: async () => password } } as never,
    {
      ...{ clock: systemClock, logger: silentLogger, identity: 'keep' },
      ledger: new ForgottenLedger(join(freshFolder(), 'forget.ledger')),
    },
  );
  onTestFinished(() => mirror.close());
  const fleet = mirror.fleet?.('host:1:2.3.4', { onMessage: () => {}, onGap: () => {} });
  onTestFinished(async () => await fleet?.close());
  const works = async () => {
    await mirror.pauses.list();
    await mirror.inbox.counts();
    await fleet?.join([]);
    await mirror.server?.ask();
  };
  await works();

  await replace('second');
  password = 'second';
  // What noticed its lost connection only now fails once.
  await expect.poll(() => works().then(() => 'works', String), { timeout: 20_000 }).toBe('works');
});
