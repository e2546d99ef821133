import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { consoleCheck } from '../../src/doctor/console-check.js';
import { folder, load, minimal } from '../config/load-config.js';

async function checkOf(auth: unknown, files: Readonly<Record<string, string>> = {}) {
  const cwd = folder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text, { mode: 0o600 });
  const { config } = load({ ...minimal, console: { auth } }, { cwd });
  return await consoleCheck(config);
}

const token = (name: string, role: string, file: string) => ({ name, role, token: { file } });
const long = 'a-token-of-decent-length';

test('doctor says who can sign in to the console', async () => {
  expect(await checkOf(null)).toMatchObject({ verdict: 'pass', message: expect.stringContaining('analyst') });
  const tokens = [token('ana', 'analyst', 'a'), token('oleg', 'operator', 'b')];
  const proxy = { addresses: ['10.0.0.5'], header: 'X-Forwarded-User' };
  expect(await checkOf({ tokens, proxy }, { a: long, b: `${long}-2` })).toMatchObject({
    verdict: 'pass',
    message: '1 analyst, 1 operator, users of a proxy at 10.0.0.5 (viewer)',
  });
  expect((await consoleCheck(load({ ...minimal, console: null }).config)).verdict).toBe('skip');
});

test('doctor reports a short token and two tokens with one value, without showing them', async () => {
  const tokens = [token('ana', 'analyst', 'a'), token('oleg', 'operator', 'b')];
  const short = await checkOf({ tokens }, { a: long, b: 'brief' });
  expect(short).toMatchObject({ verdict: 'fail', message: expect.stringContaining('shorter than 12') });
  const same = await checkOf({ tokens }, { a: long, b: long });
  expect(same).toMatchObject({ verdict: 'fail', message: expect.stringContaining('has the value of') });
  expect(JSON.stringify([short, same])).not.toMatch(/brief|decent-length/);
});

test.each(['127.0.0.1', '127.0.0.0/8', '::1'])(
  'doctor warns of a proxy on this machine: %s',
  async (address) => {
    const proxy = { addresses: ['10.0.0.5', address], header: 'X-Forwarded-User' };
    expect(await checkOf({ proxy })).toMatchObject({
      verdict: 'warn',
      message: expect.stringContaining(address),
    });
  },
);

test('doctor runs no command that prints a token', async () => {
  const tokens = [{ name: 'ana', role: 'viewer', token: { command: ['false'] } }];
  expect(await checkOf({ tokens })).toMatchObject({ verdict: 'pass' });
});
