import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agreeOnForgotten, ForgottenLedger, type LedgerEntry } from '../../src/daemon/forgotten-ledger.js';
import type { Instant } from '../../src/domain/instant.js';
import type { PersonOrInvestment } from '../../src/store/erasures.js';
import { tempFolder } from '../store/temp-folder.js';

const id = 'usr_1' as PersonOrInvestment;
const at = (day: number) => `2026-10-0${day}T00:00:00.000Z` as Instant;
const entry = (event: LedgerEntry['event'], day: number): LedgerEntry => ({ id, event, at: at(day) });

/**
 * Who is right, of a ledger and a database. In days: since when the person is forgotten there, the newest request that it
 * carried out, what is done to it, and what is added to the ledger.
 */
interface Case {
  readonly ledger: readonly LedgerEntry[];
  readonly stored?: number;
  readonly request?: number;
  readonly done: readonly string[];
  readonly added: readonly LedgerEntry[];
}

test.each<[string, Case]>([
  ['nobody is forgotten', { ledger: [], done: [], added: [] }],
  ['both agree', { ledger: [entry('forgotten', 2)], stored: 2, request: 2, done: [], added: [] }],
  [
    'the ledger is new, or another host was asked',
    { ledger: [], stored: 2, request: 2, done: [], added: [entry('forgotten', 2)] },
  ],
  [
    'the database is a copy of before the request',
    { ledger: [entry('forgotten', 2)], done: ['recall 2'], added: [] },
  ],
  [
    'the database is a copy of before a second request',
    { ledger: [entry('forgotten', 2)], request: 1, done: ['recall 2'], added: [] },
  ],
  [
    'another host lifted the request',
    { ledger: [entry('forgotten', 2)], request: 2, done: [], added: [entry('lifted', 2)] },
  ],
  [
    'another host lifted a later request',
    { ledger: [entry('forgotten', 2)], request: 3, done: [], added: [entry('lifted', 3)] },
  ],
  [
    'the database is a copy of before a lift',
    { ledger: [entry('forgotten', 2), entry('lifted', 2)], stored: 2, request: 2, done: ['lift'], added: [] },
  ],
  [
    'another host was asked again after a lift',
    {
      ledger: [entry('forgotten', 2), entry('lifted', 2)],
      ...{ stored: 3, request: 3, done: [], added: [entry('forgotten', 3)] },
    },
  ],
  [
    'the last request of several counts',
    {
      ledger: [entry('forgotten', 1), entry('lifted', 1), entry('forgotten', 2)],
      done: ['recall 2'],
      added: [],
    },
  ],
  ['a lift holds', { ledger: [entry('forgotten', 2), entry('lifted', 2)], request: 2, done: [], added: [] }],
])('ledger and database of forgotten people: %s', async (_, { ledger, stored, request, done, added }) => {
  const file = join(tempFolder(), 'forgotten.jsonl');
  const kept = new ForgottenLedger(file);
  kept.add(ledger);
  const before = ledger.length === 0 ? '' : readFileSync(file, 'utf8');
  const seen: string[] = [];
  const recalled = await agreeOnForgotten(kept, {
    forgotten: () => (stored === undefined ? [] : [{ id, at: at(stored) }]),
    requests: () => new Map(request === undefined ? [] : [[id, at(request)]]),
    recall: (people) => {
      seen.push(...people.map((one) => `recall ${Number(one.at.slice(8, 10))}`));
      return people.length;
    },
    lift: () => {
      seen.push('lift');
      return true;
    },
  });
  expect(seen).toEqual(done);
  expect(recalled).toBe(done.filter((what) => what !== 'lift').length);
  const lines =
    added.length === 0 && ledger.length === 0 ? '' : readFileSync(file, 'utf8').slice(before.length);
  expect(lines).toBe(added.map((one) => `${JSON.stringify(one)}\n`).join(''));
});

test('the ledger ignores a line cut off by a power cut and rejects a damaged one by its line number', () => {
  const file = join(tempFolder(), 'forgotten.jsonl');
  const ledger = new ForgottenLedger(file);
  expect([...ledger.read()]).toEqual([]);
  const line = (of: string) => `${JSON.stringify({ id: of, event: 'forgotten', at: at(2) })}\n`;
  writeFileSync(file, `${line('usr_1')}{"id":"usr_2","ev`);
  ledger.add([{ id: 'inv_3' as PersonOrInvestment, event: 'forgotten', at: at(2) }]);
  expect([...ledger.read().keys()]).toEqual(['usr_1', 'inv_3']);
  writeFileSync(file, `\uFEFF${line('usr_1')}`);
  expect([...ledger.read().keys()]).toEqual(['usr_1']);
  for (const damaged of [
    '{"id":"Ada"}',
    '{"id":"usr_1"} }',
    'x}',
    '{"id":"usr_1","event":"born","at":"2026-10-20T12:00:00.000Z"}',
  ]) {
    writeFileSync(file, `${line('usr_1')}${damaged}\n`);
    expect(() => ledger.read()).toThrow(/forgotten\.jsonl cannot be read: line 2 is damaged/);
  }
  const below = new ForgottenLedger(join(file, 'below.jsonl'));
  expect(() => below.add([entry('forgotten', 2)])).toThrow(/below\.jsonl cannot be written \(EEXIST\)/);
});
