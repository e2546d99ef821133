import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { isFault } from '../../src/domain/fault.js';
import { gathered } from '../../src/exports/gather.js';
import { folderFault, writeExport } from '../../src/exports/write-file.js';
import { testRandom } from '../support/chance.js';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'rosterd-exports-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const idle = new AbortController().signal;

async function* pieces(count: number, then: () => void = () => {}): AsyncGenerator<string> {
  for (let n = 0; n < count; n++) yield `${String(n).padStart(9, '0')}\n`;
  then();
}

describe('writing an export', () => {
  test('the export file is complete, private, and the only file left', async () => {
    const home = folder();
    const file = join(home, 'out.csv');
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    expect(await writeExport(file, pieces(50_000), testRandom(), idle)).toBe(500_000);
    expect(readdirSync(home)).toEqual(['out.csv']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toHaveLength(500_000);
  });

  test('the disk has each 8 MB of an export before more is written, so that commits never wait for all of it', async () => {
    const home = folder();
    const sample = await open(join(home, 'sample'), 'w');
    const datasync = vi.spyOn(Object.getPrototypeOf(sample), 'datasync');
    onTestFinished(() => datasync.mockRestore());
    await sample.close();
    async function* large(): AsyncGenerator<string> {
      for (let n = 0; n < 19; n += 1) yield 'x'.repeat(1_048_576);
    }
    await writeExport(join(home, 'out.csv'), large(), testRandom(), idle);
    expect(datasync).toHaveBeenCalledTimes(2);
  });

  test('pieces of text are combined up to 64 KB, and bytes stay in their place', async () => {
    async function* mixed(): AsyncGenerator<string | Uint8Array> {
      yield* ['a', 'b', new Uint8Array([1]), new Uint8Array([2]), 'c'];
      yield* ['x'.repeat(65_535), 'y', 'z'];
    }
    const pieces: (string | Uint8Array)[] = [];
    for await (const piece of gathered(mixed())) pieces.push(piece);
    const long = `c${'x'.repeat(65_535)}`;
    expect(pieces).toEqual(['ab', new Uint8Array([1]), new Uint8Array([2]), long, 'yz']);
  });

  test('a partial export is never visible: the file appears when it is complete', async () => {
    const home = folder();
    const file = join(home, 'out.csv');
    writeFileSync(file, 'before');
    let during: string | undefined;
    const source = pieces(20_000, () => {
      during = readFileSync(file, 'utf8');
    });
    await writeExport(file, source, testRandom(), idle);
    expect(during).toBe('before');
    expect(readFileSync(file, 'utf8')).toHaveLength(200_000);
  });

  test('a failed export leaves no new file and keeps the existing one', async () => {
    const home = folder();
    const file = join(home, 'out.csv');
    writeFileSync(file, 'before');
    const failing = pieces(20_000, () => {
      throw new Error('the database went away');
    });
    await expect(writeExport(file, failing, testRandom(), idle)).rejects.toThrow('the database went away');
    expect(readdirSync(home)).toEqual(['out.csv']);
    expect(readFileSync(file, 'utf8')).toBe('before');
  });

  test('an aborted export leaves no new file and keeps the existing one', async () => {
    const home = folder();
    const stop = new AbortController();
    async function* endless(): AsyncGenerator<string> {
      for (let n = 0; ; n++) {
        if (n === 10_000) stop.abort();
        yield 'x'.repeat(20);
      }
    }
    await expect(writeExport(join(home, 'out.csv'), endless(), testRandom(), stop.signal)).rejects.toSatisfy(
      (error) => isFault(error, 'stopped'),
    );
    expect(readdirSync(home)).toEqual([]);
  });

  test.each([
    ['a missing folder', 'none/out.csv', /existing folder/],
    ['a name that is too long with what is added', `${'x'.repeat(240)}.csv`, /shorter name/],
    ['a folder in its place', 'taken', /./],
  ])('an export to %s is reported and leaves nothing', async (_, name, hint) => {
    const home = folder();
    mkdirSync(join(home, 'taken'));
    await expect(writeExport(join(home, name), pieces(1), testRandom(), idle)).rejects.toMatchObject({
      code: 'usage',
      about: { hint: expect.stringMatching(hint) },
    });
    expect(readdirSync(home)).toEqual(['taken']);
  });

  test.each([
    ['ENOSPC', 'database_full', 'make room on its disk'],
    ['EIO', 'database_busy', 'check its disk, and the log of the kernel'],
  ])(
    'an export whose folder takes no new file because of %s says what its disk lacks',
    (code, fault, hint) => {
      expect(folderFault('/x', Object.assign(new Error(code), { code }))).toMatchObject({
        code: fault,
        message: `a file in /x cannot be written (${code})`,
        about: { hint },
      });
    },
  );
});
