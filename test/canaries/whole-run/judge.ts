import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Known, knownFile, type Said, saidFile } from './kept.js';

/** What was found, never its value: a report of leaks must not be one. */
export interface Finding {
  readonly what: string;
  readonly way: Said['way'];
  readonly test: string;
  /** What was said with what was found taken out of it. */
  readonly text: string;
}

export interface Judgement {
  readonly said: number;
  readonly known: number;
  readonly findings: readonly Finding[];
}

/** Whoever is invented by hand in a test has an address (a login in a URL is none), or says that it is a canary. */
const anyAddress = /(?<!:\/\/[^\s/]*)[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const anyCanary = /canary[\w.:@-]*/gi;
/** Another process makes secrets that nobody here is told of; they are known by their shape. */
const anySecret = /\b(?:(?:at|rt|sk)_(?:live|test)|whsec)_[A-Za-z0-9+/=_-]{12,}/g;

/** Reads all that a run has kept. Bounded by the different people of the run, not by how much was said. */
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

/** Of a text only those are looked for whose first word stands in it: people are thousands, words of a line few. */
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
