import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

const file = join(packageRoot, 'test', 'client', 'fixtures', 'delta-page.json');

/** Returns a delta page as sent: a complete record, a tombstone, a deactivated investor. */
export function deltaPage(): Page {
  return JSON.parse(readFileSync(file, 'utf8')) as Page;
}

export interface Page {
  data: Record<string, unknown>[];
  meta: Record<string, unknown>;
}

export function wholeRecord(): Record<string, unknown> {
  return entry(0);
}

export function tombstone(): Record<string, unknown> {
  return entry(1);
}

export function deactivated(): Record<string, unknown> {
  return entry(2);
}

/** Returns the same record as sent to a token without the identity grant: keys are absent, not null. */
export function withoutIdentity(): Record<string, unknown> {
  const { message: _, external_username: __, ...record } = wholeRecord();
  const investor = record.investor as Record<string, unknown>;
  return {
    ...record,
    investor: { id: investor.id, deactivated: investor.deactivated, via_entity: investor.via_entity },
  };
}

function entry(index: number): Record<string, unknown> {
  const found = deltaPage().data[index];
  if (found === undefined) throw new Error(`the fixture has no entry ${index}`);
  return found;
}
