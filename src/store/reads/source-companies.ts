import { withList } from './ask-list.js';
import type { Ask } from './snapshot.js';

/** A company with stored records or a stored profile, by the source that has it. */
export interface CompanyOfSource {
  readonly source: string;
  readonly id: string;
  readonly name: string | null;
}

/** Returns the companies of these sources; null for all. */
export async function readCompaniesOf(
  ask: Ask,
  sources: readonly string[] | null,
): Promise<readonly CompanyOfSource[]> {
  if (sources === null) return await ask`SELECT source, id, name FROM companies`;
  if (sources.length === 0) return [];
  const text = withList(
    'SELECT source, id, name FROM companies WHERE source IN (',
    sources.length,
    ') ORDER BY source, id',
  );
  return await ask(text, ...sources);
}
