import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ConsoleSignIn } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { consoleAuthOf, signInFaults } from '../../src/daemon/console-sign-in.js';
import { tempFolder } from '../store/temp-folder.js';

const long = 'a-token-of-decent-length';
const nothing: ConsoleSignIn = { tokens: [], basic: null, proxy: null };

function secretIn(file: string, name: string): { secret: Secret; rotate: (value: string) => void } {
  return {
    secret: new Secret(name, { file }, { env: {}, folder: '/' }),
    rotate: (value) => writeFileSync(file, value, { mode: 0o600 }),
  };
}

test.each(['tokens', 'basic'] as const)(
  'a console secret that is rotated to a short one is refused at its next use, as at the start (%s)',
  async (kind) => {
    const { secret, rotate } = secretIn(join(tempFolder(), 'secret'), 'console.auth');
    const config: ConsoleSignIn =
      kind === 'tokens'
        ? { ...nothing, tokens: [{ name: 'ana', role: 'viewer', token: secret }] }
        : { ...nothing, basic: { user: 'ops', password: secret } };
    const short = { code: 'usage', message: 'console.auth: shorter than 12 characters' };
    rotate('short');
    await expect(consoleAuthOf(config)).rejects.toMatchObject(short);
    rotate(long);
    const { tokens, basic } = await consoleAuthOf(config);
    const credential = tokens[0] ?? basic;
    const prefix = kind === 'basic' ? 'ops:' : '';
    expect(credential).toMatchObject(
      kind === 'basic' ? { name: 'password:ops', role: 'analyst' } : { name: 'token:ana', role: 'viewer' },
    );
    expect(await credential?.secret()).toBe(`${prefix}${long}`);
    rotate('short');
    await expect(credential?.secret()).rejects.toMatchObject(short);
    rotate(`${long}-again`);
    expect(await credential?.secret()).toBe(`${prefix}${long}-again`);
  },
);

test('two tokens of the console with one value are refused, and a command is run at the start only', async () => {
  const folder = tempFolder();
  const [first, second] = ['a', 'b'].map((name) => secretIn(join(folder, name), `console.auth.${name}`));
  if (first === undefined || second === undefined) throw new Error('two secrets');
  first.rotate(long);
  second.rotate(long);
  const config: ConsoleSignIn = {
    ...nothing,
    tokens: [
      { name: null, role: 'analyst', token: first.secret },
      { name: 'oleg', role: 'operator', token: second.secret },
    ],
  };
  await expect(consoleAuthOf(config)).rejects.toThrow('console.auth.b: has the value of console.auth.a');
  second.rotate(`${long}-2`);
  expect((await consoleAuthOf(config)).tokens.map(({ name }) => name)).toEqual(['token', 'token:oleg']);
  const failing = new Secret('console.auth.c', { command: ['false'] }, { env: {}, folder });
  const commanded = { ...nothing, tokens: [{ name: 'ana', role: 'viewer', token: failing }] } as const;
  expect(await signInFaults(commanded, { runCommands: false })).toEqual([]);
  expect(await signInFaults(commanded, { runCommands: true })).toHaveLength(1);
});
