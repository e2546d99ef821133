import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../src/config/secrets.js';
import { consoleAuthOf } from '../../src/daemon/serve-console.js';
import { tempFolder } from '../store/temp-folder.js';

const long = 'a-token-of-decent-length';

test.each(['token', 'basic'] as const)(
  'a console secret that is rotated to a short one is refused at its next use, as at the start (%s)',
  async (kind) => {
    const file = join(tempFolder(), 'secret');
    const rotate = (value: string) => writeFileSync(file, value, { mode: 0o600 });
    const secret = new Secret('console.auth', { file }, { env: {}, folder: '/' });
    const config = () =>
      kind === 'token' ? { kind, token: secret } : { kind, user: 'ops', password: secret };
    const short = { code: 'usage', message: 'console.auth: shorter than 12 characters' };
    rotate('short');
    await expect(consoleAuthOf(config())).rejects.toMatchObject(short);
    rotate(long);
    const auth = await consoleAuthOf(config());
    const read = () => (auth.kind === 'token' ? auth.token() : auth.password());
    expect(await read()).toBe(long);
    rotate('short');
    await expect(read()).rejects.toMatchObject(short);
    rotate(`${long}-again`);
    expect(await read()).toBe(`${long}-again`);
  },
);
