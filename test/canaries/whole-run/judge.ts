import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Known, knownFile, type Said, saidFile } from './kept.js';

/** What was found, without its value: a report of leaks must not leak. */
export interface Finding {
  readonly what: string;
  readonly way: Said['way'];
  readonly test: string;
  /** The recorded output with the found value removed. */
  readonly text: string;
}

export interface Judgement {
  readonly said: number;
  readonly known: number;
  readonly findings: readonly Finding[];
}

/**
 * People invented by hand in a test have an email address (a login in a URL is not one) or are declared as
 * canaries.
 */
const anyAddress = /(?<!:\/\/[^\s/]*)[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const anyCanary = /canary[\w.:@-]*/gi;
/** Another process creates secrets unknown here; their form identifies them. */
const anySecret = /\b(?:(?:at|rt|sk)_(?:live|test)|whsec)_[A-Za-z0-9+/=_-]{12,}/g;

/**
 * Reads everything that a run recorded. Memory grows with the number of different people, not with the amount of
 * output.
 */
export async function judge(folder: string): Promise<Judgement> {
  const byWord = new Map<string, Known[]>();
  let known = 0;
  for await (const one of linesOf<Known>(folder, knownFile)) {
    known += 1;
    const word = firstWord(one.value);
    const same = byWord.get(word) ?? [];
    if (!same.some(({ value }) => value === one.value)) byWord.set(word, [...same, one]);
  }
  const findings = new Map<string, Finding>();
  let said = 0;
  for await (const { way, text, test } of linesOf<Said>(folder, saidFile)) {
    said += 1;
    for (const { what, value } of found(text, byWord)) {
      const shown = text.replaceAll(value, `<${what}>`);
      const key = `${what} ${way} ${test}`;
      if (!findings.has(key)) findings.set(key, { what, way, test, text: shown });
    }
  }
  return { said, known, findings: [...findings.values()] };
}

/**
 * Looks only for values whose first word is in the text: there are thousands of people, but few words in a line.
 */
function found(text: string, byWord: ReadonlyMap<string, readonly Known[]>): Known[] {
  const words = new Set(text.match(wordly) ?? []);
  const invented = [...words]
    .flatMap((word) => byWord.get(word) ?? [])
    .filter(({ value }) => text.includes(value));
  const byHand = (what: string, pattern: RegExp) =>
    (text.match(pattern) ?? []).map((value) => ({ what, value }));
  return [
    ...invented,
    ...byHand('address', anyAddress),
    ...byHand('canary', anyCanary),
    ...byHand('secret', anySecret),
  ];
}

const wordly = /[\p{L}\p{M}\p{N}_'-]+/gu;
const firstWord = (value: string): string => value.match(wordly)?.[0] ?? value;

async function* linesOf<Line>(folder: string, kind: string): AsyncGenerator<Line> {
  for (const name of readdirSync(folder).filter((file) => file.startsWith(`${kind}-`)))
    for await (const line of createInterface({ input: createReadStream(join(folder, name)) }))
      yield JSON.parse(line);
}
