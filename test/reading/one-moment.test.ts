import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exportMirror } from '../../src/reading/export.js';
import { publishExports } from '../../src/reading/publish-exports.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { Random } from '../../src/runtime/random.js';
import { databases, type WorkingMirror } from '../store/support/databases.js';
import {
  freshMirror,
  recordDefaults,
  seedInvestment,
  seedSource,
  sourceRow,
} from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';

const signal = new AbortController().signal;

/** Stores one more investment and its change. */
async function add(mirror: WorkingMirror, no: number): Promise<void> {
  const version = { valid_from: '2026-10-12T00:00:00.000Z', change_seq: no };
  const id = `inv_${no}`;
  await mirror.insert('investment_rows', { row_no: no, source_no: 1, id, ...recordDefaults, ...version });
  await mirror.insert('change_rows', {
    ...{ source_no: 1, seq: no, kind: 'added', id, fields: '[]', reason: null, at: version.valid_from },
  });
}

const linesOf = (file: string): number => readFileSync(file, 'utf8').trimEnd().split('\n').length;

describe.each(databases)('exports from $database', ({ open }) => {
  async function mirror(): Promise<WorkingMirror> {
    const opened = await open();
    await opened.insert('sources', sourceRow(1));
    await add(opened, 2);
    return opened;
  }

  test('an export reads several tables and its manifest at one moment, whatever is committed in between', async () => {
    const opened = await mirror();
    const folder = tempFolder();
    const ask = { format: 'jsonl', tables: ['investments', 'changes'], identity: false, raw: false } as const;
    await exportMirror(opened.place, { ...ask, onRow: () => {} }, async ({ files }) => {
      for (const [at, file] of files.entries()) {
        await add(opened, 3 + at);
        const path = join(folder, `${file.table}.jsonl`);
        await file.save(path, testRandom(), signal);
        expect([file.table, linesOf(path)]).toEqual([file.table, 1]);
        const manifest = JSON.parse(readFileSync(await file.describe(path, systemClock), 'utf8'));
        expect(manifest.change_seq).toBe(2);
      }
    });
  });

  test('an export that is abandoned leaves the connection of its moment usable', async () => {
    const opened = await mirror();
    const ask = { format: 'csv', tables: ['investments', 'changes'], identity: false, raw: false } as const;
    const read = await exportMirror(opened.place, { ...ask, onRow: () => {} }, async ({ files }) => {
      const heads: unknown[] = [];
      for (const { pieces } of files)
        for await (const piece of pieces ?? []) {
          heads.push(String(piece).split(',')[0]);
          break;
        }
      return heads;
    });
    expect(read).toEqual(['source', 'seq']);
  });
});

test('a scheduled export reads all of its tables at one moment', async () => {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  const folder = tempFolder();
  const random = testRandom();
  // Called for the name of the folder and of each unfinished file, before its table is read.
  let names = 0;
  const busy: Random = {
    ...random,
    bytes(count) {
      names += 1;
      seedInvestment(mirror, 1, `inv_${names}`);
      return random.bytes(count);
    },
  };
  const { rows } = await publishExports(
    { kind: 'sqlite', file: mirror.file },
    { folder, format: 'jsonl', tables: ['investments', 'roster'], identity: true },
    { clock: systemClock, random: busy, signal },
  );
  expect([names, rows]).toEqual([3, 2]);
});
