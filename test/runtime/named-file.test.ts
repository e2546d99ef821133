import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isFault } from '../../src/domain/fault.js';
import { openNamedFile, readNamedFile } from '../../src/runtime/named-file.js';
import { tempFolder } from '../store/temp-folder.js';

function pipe(): string {
  const path = join(tempFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

const nonBlocking = (path: string) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);

const usage = (says: string) => (error: unknown) => isFault(error, 'usage') && error.message === says;

test('named file: a file, a long one and one behind a link are read whole', () => {
  const file = join(tempFolder(), 'a file.json');
  const link = `${file}.link`;
  symlinkSync(file, link);
  const text = '{"länge": 3}'.repeat(20_000);
  writeFileSync(file, text);
  expect(readNamedFile(file)).toBe(text);
  expect(readNamedFile(link)).toBe(text);
  writeFileSync(file, `\uFEFF${text}`);
  expect(readNamedFile(file)).toBe(text);
  expect(() => readNamedFile(`${file}.missing`)).toThrow('ENOENT');
  expect(() => readNamedFile(tempFolder())).toThrow('EISDIR');
});

test('named file: a pipe that no program writes to is refused instead of waited for', () => {
  const path = pipe();
  expect(() => readNamedFile(path)).toThrow(
    expect.toSatisfy(usage(`${path} is a pipe that no program writes to`)),
  );
  expect(() => readNamedFile(path, 'config.json')).toThrow(
    expect.toSatisfy(usage('config.json is a pipe that no program writes to')),
  );
});

test('named file: a pipe is read until its writers have closed it', () => {
  const path = pipe();
  const kept = nonBlocking(path);
  const writer = openSync(path, 'w');
  writeSync(writer, '{}');
  const file = openNamedFile(path);
  const part = Buffer.alloc(9);
  expect(file.read(part)).toBe(2);
  expect(part.toString('utf8', 0, 2)).toBe('{}');
  closeSync(writer);
  expect(file.read(part)).toBe(0);
  file.close();
  closeSync(kept);
});

test('named file: a pipe with a writer that has written nothing yet is waited for', async () => {
  const path = pipe();
  const kept = nonBlocking(path);
  const writer = spawn('sh', ['-c', 'exec 3> "$0"; echo open; read line; printf text >&3', path]);
  await once(writer.stdout, 'data');
  const ended = once(writer, 'exit');
  writer.stdin.write('go\n');
  expect(readNamedFile(path)).toBe('text');
  await ended;
  // Until now: what a writer that has ended wrote before the pipe is read would be lost without a reader.
  closeSync(kept);
});

test('named file: a text of more than 64 MB is refused', () => {
  const file = join(tempFolder(), 'large.json');
  writeFileSync(file, '');
  truncateSync(file, 65 * 1024 * 1024);
  expect(() => readNamedFile(file)).toThrow(expect.toSatisfy(usage(`${file} is larger than 64 MB`)));
});
