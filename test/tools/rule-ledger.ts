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

/**
 * Returns which test files cite an id. Only sections of the ledger count: `UTF-8` and `SHA-256` are no rules.
 */
export function citations(rules: readonly Rule[]): ReadonlyMap<string, readonly string[]> {
  const sections = new Set(rules.map(({ section }) => section));
  const word = new RegExp(`(?<![A-Za-z0-9_-])(${shape})(?![A-Za-z0-9_])`, 'g');
  const cited = new Map<string, string[]>();
  for (const path of readdirSync(testFolder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!path.endsWith('.ts')) continue;
    for (const [, id = ''] of readFileSync(join(testFolder, path), 'utf8').matchAll(word)) {
      const files = cited.get(id) ?? [];
      if (sections.has(id.split('-')[0] ?? '') && !files.includes(path)) cited.set(id, [...files, path]);
    }
  }
  return cited;
}
