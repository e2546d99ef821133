import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { compiledScript } from '../support/compiled-script.js';
import { inOrder } from './slow-io/in-order.js';
import { readSetting, type Setting, settingName, settingText } from './slow-io/setting.js';
import { slownessOf } from './slow-io/slowness.js';

const slowIo = join(packageRoot, 'test', 'tools', 'slow-io');
const freshFolder = () => mkdtempSync(join(tmpdir(), 'rosterd-slow-'));

/** Runs Node with the preloaded module and returns what it printed. */
async function slowed(setting: Setting, words: readonly string[]): Promise<string> {
  const preload = pathToFileURL(await compiledScript(join(slowIo, 'preload.ts'))).href;
  const env = { ...process.env, NODE_OPTIONS: `--import ${preload}`, [settingName]: settingText(setting) };
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  return stdout;
}

/** Returns the first seed that lets the first call of this name begin late. */
const seedOf = (name: string) => {
  for (let seed = 1; ; seed += 1) if (slownessOf({ seed, longest: 300 }).waits(name).before > 0) return seed;
};

test('slow input and output: delays follow from the seed, up to the longest', () => {
  const delays = (seed: number) => {
    const slowness = slownessOf({ seed, longest: 300 });
    return Array.from({ length: 400 }, () => slowness.late('stat'));
  };
  expect(delays(1)).toEqual(delays(1));
  expect(delays(1)).not.toEqual(delays(2));
  for (const seed of [1, 2, 3, 4, 5]) {
    expect(Math.max(...delays(seed))).toBeLessThanOrEqual(300);
    expect(delays(seed).filter((millis) => millis > 0).length).toBeGreaterThan(0);
    expect(delays(seed).filter((millis) => millis === 0).length).toBeGreaterThan(100);
  }
  const slowness = slownessOf({ seed: 1, longest: 300 });
  const first = Array.from({ length: 50 }, () => slowness.late('stat'));
  slowness.restart();
  expect(Array.from({ length: 50 }, () => slowness.late('stat'))).toEqual(first);
});

test('slow input and output: the setting survives the environment', () => {
  expect(readSetting(settingText({ seed: 7, longest: 300 }))).toEqual({ seed: 7, longest: 300 });
  expect(readSetting(undefined)).toBeNull();
});

test('slow input and output: what is not delayed waits for what came before it', async () => {
  const later = inOrder();
  const seen: number[] = [];
  later(0, () => seen.push(1));
  expect(seen).toEqual([1]);
  await new Promise<void>((resolve) => {
    later(20, () => seen.push(2));
    later(1, () => seen.push(3));
    later(0, () => {
      seen.push(4);
      resolve();
    });
    expect(seen).toEqual([1]);
  });
  expect(seen).toEqual([1, 2, 3, 4]);
});

test.each([
  ['a promise', 'node:fs/promises', 'stat(file)'],
  ['a callback', 'node:fs', 'new Promise((resolve) => stat(file, (_, found) => resolve(found)))'],
])(
  'slow input and output: a call with %s begins late and finds what is there by then',
  async (_, from, call) => {
    const file = join(freshFolder(), 'token');
    writeFileSync(file, 'old');
    const program = `
    import { writeFileSync } from 'node:fs';
    import { stat } from '${from}';
    const [file] = process.argv.slice(1);
    const measured = ${call};
    writeFileSync(file, 'replaced');
    console.log((await measured).size);`;
    const setting = { seed: seedOf('stat'), longest: 300 };
    expect(await slowed(setting, ['--input-type=module', '--eval', program, file])).toBe('8\n');
  },
);

test('slow input and output: what programs read, send and receive stays the same', async () => {
  const program = await compiledScript(join(slowIo, 'slow-program.ts'));
  const numbers = Array.from({ length: 20 }, (_, index) => index + 1);
  for (const seed of [1, 2, 3]) {
    const printed = await slowed({ seed, longest: 30 }, [program, freshFolder()]);
    expect(JSON.parse(printed)).toEqual({
      text: 'contents and more',
      names: ['file', 'inner'],
      missing: 'ENOENT',
      bytesRead: 8,
      refused: 'ECONNREFUSED',
      exit: [0, numbers.map((number) => `${number} `).join(''), ...numbers],
      echoed: true,
      received: Array.from({ length: 50 }, (_, index) => `${index + 1}\n`).join(''),
    });
  }
});
