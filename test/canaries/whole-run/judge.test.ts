import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../store/temp-folder.js';
import { judge } from './judge.js';
import { type Known, knownFile, type Said, saidFile } from './kept.js';

const lines = (values: readonly (Known | Said)[]) =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

function kept(...texts: readonly string[]): string {
  const folder = tempFolder();
  const people = [
    { what: 'name', value: "Zoë O'Neil" },
    { what: 'street', value: '7 Nowhere Lane' },
    { what: 'secret', value: 'sk_test_0123456789' },
  ];
  writeFileSync(join(folder, `${knownFile}-1.jsonl`), lines(people));
  const said = texts.map((text) => ({ way: 'log' as const, text, test: 'a test' }));
  writeFileSync(join(folder, `${saidFile}-2.jsonl`), lines(said));
  return folder;
}

test('the judge reports no leak where the output names no known person', async () => {
  const folder = kept(
    'a tick is over',
    'Zoë alone is anybody, 7 is a number, sk_test_ is a prefix',
    'postgres://me@db.example:5432/x is down',
  );
  expect(await judge(folder)).toEqual({ said: 3, known: 3, findings: [] });
});

test.each([
  ['name', '{"hint":"ask Zoë O\'Neil"}'],
  ['street', 'moved to (7 Nowhere Lane)'],
  ['secret', 'authorization=sk_test_0123456789,'],
  ['address', 'no mailbox mara@people.example'],
  ['secret', 'signed with whsec_bm9ib2R5LWtub3dzLWl0, as told'],
  ['canary', 'the message was canary-message'],
])('the judge finds a %s in the middle of a line and reports it without its value', async (what, text) => {
  const { findings } = await judge(kept('nothing', text));
  expect(findings).toMatchObject([{ what, way: 'log', test: 'a test' }]);
  expect(findings[0]?.text).toContain(`<${what}>`);
  for (const value of ['Neil', 'Nowhere', '0123456789', 'mara', 'message-canary', 'bm9ib2R5'])
    expect(findings[0]?.text).not.toContain(value);
});
