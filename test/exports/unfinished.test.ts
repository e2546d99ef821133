import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeParquet } from '../../src/exports/parquet.js';
import { writeExport } from '../../src/exports/write-file.js';
import { processSpace } from '../../src/runtime/process-identity.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';
import { rowSource } from './rows.js';

/** The number of a process that has ended. */
const ended = spawnSync(process.execPath, ['-e', '']).pid;
const here = processSpace();
const elsewhere = '4026531000-0123456789ab';
const idle = new AbortController().signal;

async function* someone(): AsyncGenerator<string> {
  yield 'Ann\r\n';
}

test.each([
  ['out.csv', (file: string) => writeExport(file, someone(), testRandom(), idle)],
  [
    'out.parquet',
    (file: string) => writeParquet(file, rowSource([{ name: 'name', kind: 'text' }], [['Ann']]), idle),
  ],
])(
  '%s: an export removes what killed exports to the same file left, and nothing else',
  async (name, write) => {
    const folder = tempFolder();
    const left = [
      `.${name}.${ended}-${here}.tmp-Ab12Cd34`,
      `.${name}.${process.pid}-${here}.tmp-Ab12Cd34`,
      `.${name}.${process.pid}-${elsewhere}.tmp-old`,
    ];
    const others = [
      `.other.csv.${ended}-${here}.tmp-Ab12Cd34`,
      `.${name}.${process.ppid}-${here}.tmp-Ab12Cd34`,
      `.${name}.${process.pid}-${elsewhere}.tmp-new`,
      `.${name}.tmp`,
    ];
    for (const entry of [...left, ...others]) writeFileSync(join(folder, entry), 'Ann');
    mkdirSync(join(folder, `.${name}.${ended}-${here}.tmp-folder`));
    writeFileSync(join(folder, `.${name}.${ended}-${here}.tmp-folder`, 'rows.duckdb'), 'Ann');
    utimesSync(join(folder, left[2] ?? ''), 1, 1);
    await write(join(folder, name));
    expect(readdirSync(folder).sort()).toEqual([...others, name].sort());
  },
);
