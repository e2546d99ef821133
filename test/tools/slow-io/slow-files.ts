import fs from 'node:fs';
import { open } from 'node:fs/promises';
import type { Slowness } from './slowness.js';

const { setTimeout } = globalThis;
const wait = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis));

type Call = (this: unknown, ...args: unknown[]) => unknown;
type Calls = Record<string, Call | undefined>;

const ofPaths = [
  ...[
    'access',
    'appendFile',
    'chmod',
    'chown',
    'copyFile',
    'cp',
    'lchown',
    'link',
    'lstat',
    'lutimes',
    'mkdir',
  ],
  ...['mkdtemp', 'open', 'opendir', 'readFile', 'readdir', 'readlink', 'realpath', 'rename', 'rm', 'rmdir'],
  ...['stat', 'statfs', 'symlink', 'truncate', 'unlink', 'utimes', 'writeFile'],
];
const ofDescriptors = [
  ...['close', 'fchmod', 'fchown', 'fdatasync', 'fstat', 'fsync', 'ftruncate', 'futimes', 'read', 'readv'],
  ...['write', 'writev'],
];
const ofHandles = [
  ...['appendFile', 'chmod', 'close', 'datasync', 'read', 'readFile', 'readv', 'stat', 'sync', 'truncate'],
  ...['utimes', 'write', 'writeFile', 'writev'],
];

/** Keeps what callers may look for on a function, such as its form for `promisify`. */
const replace = (calls: Calls, name: string, make: (original: Call) => Call) => {
  const original = calls[name];
  if (original === undefined) return;
  const { name: _, length, ...properties } = Object.getOwnPropertyDescriptors(original);
  calls[name] = Object.defineProperties(make(original), {
    ...properties,
    name: { value: name, configurable: true },
    length: { value: original.length, configurable: true },
  }) as Call;
};

const promising =
  (slowness: Slowness, name: string) =>
  (original: Call): Call =>
    function (...args) {
      const { before, after } = slowness.waits(name);
      if (before + after === 0) return original.apply(this, args);
      return (async () => {
        if (before > 0) await wait(before);
        try {
          return await original.apply(this, args);
        } finally {
          if (after > 0) await wait(after);
        }
      })();
    };

const callingBack =
  (slowness: Slowness, name: string) =>
  (original: Call): Call =>
    function (...args) {
      const done = args.at(-1);
      if (typeof done !== 'function') return original.apply(this, args);
      const { before, after } = slowness.waits(name);
      if (before > 0) return void setTimeout(() => original.apply(this, args), before);
      if (after === 0) return original.apply(this, args);
      const late = (...results: unknown[]) => void setTimeout(() => done(...results), after);
      return original.apply(this, [...args.slice(0, -1), late]);
    };

/**
 * Delays asynchronous calls of the file system, as threads do that are busy: a call begins late, or its result
 * arrives late. Synchronous calls stay as they are.
 */
export async function slowFiles(slowness: Slowness): Promise<void> {
  const handle = await open('/dev/null');
  const ofHandle = Object.getPrototypeOf(handle) as Calls;
  await handle.close();
  for (const name of ofHandles) replace(ofHandle, name, promising(slowness, `handle.${name}`));
  for (const name of ofPaths) replace(fs.promises as unknown as Calls, name, promising(slowness, name));
  for (const name of [...ofPaths, ...ofDescriptors])
    replace(fs as unknown as Calls, name, callingBack(slowness, name));
}
