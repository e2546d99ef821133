import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

export interface Rule {
  readonly id: string;
  readonly section: string;
  readonly text: string;
  readonly open: boolean;
  readonly decision: string | null;
}

const shape = '[A-Z]+-\\d{2,3}';
const testFolder = join(packageRoot, 'test');

/** Returns the rules of the ledger in order, without void ones. */
export function readRules(
  text = readFileSync(join(testFolder, 'conformance/rules.md'), 'utf8'),
): readonly Rule[] {
  const lines = new RegExp(`^- \\*\\*(${shape})\\*\\* (.+)(?:\\n {2}decision: (.+))?$`, 'gm');
  return [...text.matchAll(lines)]
    .map(([, id = '', body = '', decision]) => ({
      id,
      section: id.split('-')[0] ?? '',
      text: body,
      open: body.includes('[open]'),
      decision: decision ?? null,
    }))
    .filter((rule) => !rule.text.includes('[void]'));
}

/** Matches ids of rules. Only sections of the ledger count: `UTF-8` and `SHA-256` are no rules. */
function idsIn(text: string, sections: ReadonlySet<string>): readonly string[] {
  return [...text.matchAll(new RegExp(`(?<![A-Za-z0-9_-])(${shape})(?![A-Za-z0-9_])`, 'g'))]
    .map(([, id = '']) => id)
    .filter((id) => sections.has(id.split('-')[0] ?? ''));
}

const sectionsOf = (rules: readonly Rule[]): ReadonlySet<string> =>
  new Set(rules.map(({ section }) => section));

const testFiles = (): readonly string[] =>
  readdirSync(testFolder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort();

/** Returns the lines of tests that cite more rules than a title may: nobody could say which of them failed. */
export function crowdedTitles(rules: readonly Rule[], max: number): readonly string[] {
  const sections = sectionsOf(rules);
  return testFiles().flatMap((path) =>
    readFileSync(join(testFolder, path), 'utf8')
      .split('\n')
      .flatMap((line, index) => (idsIn(line, sections).length > max ? [`${path}:${index + 1}`] : [])),
  );
}

/** Returns which test files cite an id. */
export function citations(rules: readonly Rule[]): ReadonlyMap<string, readonly string[]> {
  const sections = sectionsOf(rules);
  const cited = new Map<string, string[]>();
  for (const path of testFiles()) {
    for (const id of idsIn(readFileSync(join(testFolder, path), 'utf8'), sections)) {
      const files = cited.get(id) ?? [];
      if (!files.includes(path)) cited.set(id, [...files, path]);
    }
  }
  return cited;
}
