import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processName } from '../../../../src/runtime/process-identity.js';
import type { DeliveryRow } from '../../../../src/store/delivery-row.js';
import {
  DeliveryJournal,
  recoverDeliveries,
  recoverInTurns,
} from '../../../../src/store/dialect/sqlite/delivery-journal.js';
import { mayWriteUpTo } from '../../../support/file-size-limit.js';
import { tempFolder } from '../../temp-folder.js';

const row = (name: string): DeliveryRow => [
  ...[name, '', 'investment.changed', 'acme', null, null, 0, '2026-11-24T12:00:00.000000Z'],
  ...['pending', null, '{}'],
];

function journalIn(folder: string, owner?: string) {
  const database = join(folder, 'mirror.db');
  const stored: DeliveryRow[] = [];
  const store = (rows: readonly DeliveryRow[]) => stored.push(...rows);
  const journal = new DeliveryJournal(database, store, ...(owner === undefined ? [] : [owner]));
  return { database, stored, store, journal };
}

/** The name of a process that has ended: this one's, with the start time of another. */
const endedProcess = () => processName().replace(/^(.+:\d+:)\d+\./, '$11.');

test('delivery journal: rows are in a private file after append, and in the inbox and nowhere else after empty', async () => {
  const folder = tempFolder();
  const { journal, stored } = journalIn(folder);
  expect(journal.isEmpty).toBe(true);
  journal.append([row('evt_1'), row('evt_2')]);
  journal.append([row('evt_3')]);
  expect(journal.isEmpty).toBe(false);
  const [name = ''] = readdirSync(folder);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, name), 'utf8').split('\n')).toHaveLength(4);
  expect(stored).toEqual([]);
  await journal.empty();
  expect(stored).toEqual([row('evt_1'), row('evt_2'), row('evt_3')]);
  expect(readdirSync(folder)).toEqual([]);
});

test('delivery journal: many rows are moved in several transactions, in their order', async () => {
  const folder = tempFolder();
  const sizes: number[] = [];
  const stored: DeliveryRow[] = [];
  const journal = new DeliveryJournal(join(folder, 'mirror.db'), (rows) => {
    sizes.push(rows.length);
    stored.push(...rows);
  });
  const rows = Array.from({ length: 600 }, (_, at) => row(`evt_${at}`));
  // Nothing to do.
  await journal.empty();
  journal.append(rows);
  await journal.empty();
  expect(sizes).toEqual([256, 256, 88]);
  expect(stored).toEqual(rows);
});

test('delivery journal: rows that cannot be moved stay, in memory and in the file, until the next attempt', async () => {
  const folder = tempFolder();
  let isFull = true;
  const stored: DeliveryRow[] = [];
  const journal = new DeliveryJournal(join(folder, 'mirror.db'), (rows) => {
    if (isFull) throw new Error('no room');
    stored.push(...rows);
  });
  journal.append([row('evt_1')]);
  await expect(journal.empty()).rejects.toThrow('no room');
  expect(readdirSync(folder)).toHaveLength(1);
  isFull = false;
  await journal.empty();
  expect(stored).toEqual([row('evt_1')]);
  expect(readdirSync(folder)).toEqual([]);
});

test('delivery journal: more than 16 MB are refused, and what was appended before still counts', async () => {
  const { journal, stored } = journalIn(tempFolder());
  journal.append([row('evt_1')]);
  expect(() => journal.append([row('x'.repeat(16 * 1024 * 1024))])).toThrow('full');
  await journal.empty();
  expect(stored).toEqual([row('evt_1')]);
});

test('delivery journal: a failed append takes back only itself, also where the file of an emptied journal could not be removed', async () => {
  const folder = tempFolder();
  const { database, journal, stored, store } = journalIn(folder, endedProcess());
  journal.append([row('evt_1')]);
  const [name = ''] = readdirSync(folder);
  const path = join(folder, name);
  const notRemoved = readFileSync(path);
  await journal.empty();
  writeFileSync(path, notRemoved);
  journal.append([row('evt_2')]);
  if (!mayWriteUpTo(statSync(path).size + 10)) return;
  try {
    expect(() => journal.append([row('evt_3')])).toThrow('EFBIG');
  } finally {
    mayWriteUpTo('unlimited');
  }
  stored.length = 0;
  recoverDeliveries(database, store);
  expect(stored).toEqual([row('evt_1'), row('evt_2')]);
});

test('delivery journal: what a process left that ended is recovered, without an incomplete last line', () => {
  const folder = tempFolder();
  const { database, journal, stored, store } = journalIn(folder, endedProcess());
  journal.append([row('evt_1'), row('evt_2')]);
  const [name = ''] = readdirSync(folder);
  const path = join(folder, name);
  writeFileSync(path, `${readFileSync(path, 'utf8')}["evt_3","",`);
  expect(recoverDeliveries(database, store)).toEqual({ moved: 2, unreadable: 0 });
  expect(stored).toEqual([row('evt_1'), row('evt_2')]);
  expect(existsSync(path)).toBe(false);
});

test('delivery journal: a running daemon recovers a long one in several turns of its event loop', async () => {
  const folder = tempFolder();
  const { database, journal } = journalIn(folder, endedProcess());
  journal.append(Array.from({ length: 600 }, (_, number) => row(`evt_${number}`)));
  let turn = 0;
  const stored: number[][] = [];
  const store = async (rows: readonly DeliveryRow[]) => {
    stored.push([turn, rows.length]);
    setImmediate(() => {
      turn += 1;
    });
  };
  expect(await recoverInTurns(database, store)).toEqual({ moved: 600, unreadable: 0 });
  expect(stored).toEqual([
    [0, 256],
    [1, 256],
    [2, 88],
  ]);
  expect(readdirSync(folder)).toEqual([]);
});

test('delivery journal: one with damaged lines is kept beside the database, and the others are recovered once', () => {
  const folder = tempFolder();
  const { database, journal, stored, store } = journalIn(folder, endedProcess());
  journal.append([row('evt_1'), row('evt_2'), row('evt_3')]);
  const [name = ''] = readdirSync(folder);
  const damaged = readFileSync(join(folder, name), 'utf8').replace('["evt_2"', '\0\0\0');
  writeFileSync(join(folder, name), `${damaged}[]\n`);
  expect(recoverDeliveries(database, store)).toEqual({ moved: 2, unreadable: 2 });
  expect(stored).toEqual([row('evt_1'), row('evt_3')]);
  const [kept = ''] = readdirSync(folder);
  expect(kept).toMatch(/^mirror\.db-unreadable-deliveries-/);
  expect(readFileSync(join(folder, kept), 'utf8')).toBe(`${damaged}[]\n`);
  expect(recoverDeliveries(database, store)).toEqual({ moved: 0, unreadable: 0 });
});

test('delivery journal: what a running process leaves behind is recovered, however often it does, and then not its own any more', async () => {
  const folder = tempFolder();
  const { database, journal, stored, store } = journalIn(folder);
  journal.leave();
  for (const name of ['evt_1', 'evt_2']) {
    journal.append([row(name)]);
    journal.leave();
  }
  expect(journal.isEmpty).toBe(true);
  await journal.empty();
  expect(readdirSync(folder)).toHaveLength(2);
  expect(recoverDeliveries(database, store)).toEqual({ moved: 2, unreadable: 0 });
  expect(stored.map(([id]) => id).sort()).toEqual(['evt_1', 'evt_2']);
  expect(readdirSync(folder)).toEqual([]);
});

test('delivery journal: that of a running process, and other files, are left alone', () => {
  const folder = tempFolder();
  const { database, journal, stored, store } = journalIn(folder);
  journal.append([row('evt_1')]);
  writeFileSync(join(folder, 'mirror.db'), '');
  writeFileSync(join(folder, 'other.db-deliveries-x'), '[]\n');
  expect(recoverDeliveries(database, store)).toEqual({ moved: 0, unreadable: 0 });
  expect(stored).toEqual([]);
  expect(readdirSync(folder)).toHaveLength(3);
});

test('delivery journal: one that cannot be moved to the inbox is kept for the next start', () => {
  const folder = tempFolder();
  const { database, journal } = journalIn(folder, endedProcess());
  journal.append([row('evt_1')]);
  const failing = () => {
    throw new Error('no room');
  };
  expect(() => recoverDeliveries(database, failing)).toThrow('no room');
  expect(readdirSync(folder)).toHaveLength(1);
});
