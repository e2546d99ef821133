import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
const at = (name: string) => join(world.folder, name);

beforeAll(async () => {
  world = await filledMirror(10);
  await world.sync();
});
afterAll(() => world.close());

/** A link in one folder to a file in another, which exists or not. */
function linked(name: string, content: string | null): { link: string; behind: string } {
  const [link, behind] = [`${name}/latest`, at(`${name}/disk/file`)];
  mkdirSync(at(`${name}/disk`), { recursive: true });
  if (content !== null) writeFileSync(behind, content);
  symlinkSync('disk/file', at(link));
  return { link, behind };
}

const commands = [
  ...['csv', 'jsonl', 'xlsx', 'parquet', 'founder-csv'].map((format) => ({
    name: `export --format ${format}`,
    args: (file: string) => ['export', '--format', format, '--out', file],
  })),
  { name: 'backup', args: (file: string) => ['backup', file] },
  { name: 'support-bundle', args: (file: string) => ['support-bundle', file] },
];

test.each(commands)('$name to a symbolic link writes the file behind it', async ({ name, args }) => {
  for (const before of ['old', null]) {
    const { link, behind } = linked(`${name}-${before}`, before);
    if (before !== null) expect((await world.run(args(link))).code).toBe(2);
    const { code, err } = await world.run([...args(link), '--force']);
    expect([code, err]).toEqual([0, expect.anything()]);
    expect(lstatSync(at(link)).isSymbolicLink()).toBe(true);
    expect(readFileSync(behind, 'utf8')).not.toBe('old');
    expect(statSync(behind).mode & 0o777).toBe(0o600);
    // Nothing unfinished is left, in neither folder.
    expect(readdirSync(at(`${name}-${before}`)).sort()).toEqual(['disk', 'latest']);
    expect(readdirSync(at(`${name}-${before}/disk`))).toEqual(['file']);
  }
});

test('export --manifest to a symbolic link describes the file under the name of the link', async () => {
  const { link } = linked('manifest', 'old');
  symlinkSync('disk/about', at(`${link}.manifest.json`));
  expect((await world.run(['export', '--out', link, '--manifest', '--force'])).code).toBe(0);
  expect(readdirSync(at('manifest/disk')).sort()).toEqual(['about', 'file']);
  expect(JSON.parse(readFileSync(at('manifest/disk/about'), 'utf8')).files).toMatchObject([
    { name: 'latest' },
  ]);
  expect((await world.run(['export', '--check', link])).code).toBe(0);
});

test('export refuses a symbolic link to the mirror itself', async () => {
  symlinkSync('mirror.db', at('to-mirror.csv'));
  const { code, err } = await world.run(['export', '--out', 'to-mirror.csv', '--force']);
  expect([code, err]).toEqual([2, expect.stringContaining('is the mirror itself')]);
});
