import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeCredentials } from '../../src/client/tokens/credentials-file.js';
import type { Access, Config } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { configFor, freshFolder, partsFor, readerOf, sandboxFor } from './daemon-fixture.js';

/** A command that prints the content of a file, as one that asks a secret store which may be away. */
function storeAt(folder: string) {
  const file = join(folder, 'secret');
  const script = 'process.stdout.write(require("fs").readFileSync(process.argv[1]))';
  const command = [process.execPath, '-e', script, file];
  return {
    secret: new Secret('the secret', { command }, { env: {}, folder }),
    comesBack: (value: string) => writeFileSync(file, value),
  };
}

async function world(kind: 'token' | 'credentials') {
  const sandbox = await sandboxFor({ companies: 1, records: 20 });
  const folder = freshFolder();
  const { secret, comesBack } = storeAt(folder);
  const [app] = sandbox.ready.apps;
  const [person] = sandbox.ready.users;
  const [company] = sandbox.ready.companies;
  const file = join(folder, 'sign-in.json');
  await writeCredentials(file, {
    ...{ clientId: app?.clientId ?? '', clientSecret: null, accessToken: 'at_test_spent' },
    ...{ refreshToken: person?.refreshToken ?? '', previousRefreshToken: null },
    ...{ expiresAt: null, scope: '' },
  });
  const access: Access =
    kind === 'token'
      ? { kind, token: secret }
      : { kind, at: { file }, clientId: app?.clientId ?? '', clientSecret: secret };
  const plain = configFor(sandbox, { folder });
  const config: Config = {
    ...plain,
    console: null,
    sources: plain.sources.map((source) => ({ ...source, access })),
  };
  const start = async () => {
    const daemon = await startDaemon(partsFor(config));
    onTestFinished(() => daemon.close());
    await daemon.engine.sync.idle();
    return daemon;
  };
  const source = () =>
    readerOf(config)
      .prepare('SELECT state, last_error_code, retry_at IS NOT NULL AS retries FROM sources')
      .get();
  const value = (kind === 'token' ? company?.token : app?.clientSecret) ?? '';
  const name = config.sources[0]?.name ?? ('' as never);
  return { start, source, name, comesBack: () => comesBack(value) };
}

test('a source retries by itself while the command with its client secret fails', async () => {
  const { start, source, name, comesBack } = await world('credentials');
  const { engine } = await start();
  expect(source()).toMatchObject({ state: 'listing', last_error_code: 'unreachable', retries: 1 });
  comesBack();
  await engine.sync.tick(name);
  expect(source()).toMatchObject({ state: 'following' });
});

test('a daemon does not start while a command with a token fails, which is no problem of the configuration', async () => {
  const { start, source, comesBack } = await world('token');
  await expect(start()).rejects.toMatchObject({ code: 'unreachable' });
  comesBack();
  await start();
  expect(source()).toMatchObject({ state: 'following' });
});
