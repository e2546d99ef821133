import { parseSourceName, type SourceName } from '../domain/ids.js';
import { slugOf } from '../domain/slug.js';

/** What a name is made of: the installation's target, and the installation. */
export interface NamedInstallation {
  readonly id: string;
  readonly target: string;
  readonly targetName: string;
}

/** Leaves room for a number behind it. */
const lengthMax = 56;
const longestName = 63;

/**
 * Returns the name of a new source from the template of its rule. `{slug}` is the target's name in lower case without
 * accents, words joined by hyphens; `{company}` and `{installation}` are the ids in lower case. A name that is taken
 * gets the first free number: `acme-2`.
 */
export function sourceNameFor(
  template: string,
  installation: NamedInstallation,
  isTaken: (name: SourceName) => boolean,
  reached: Map<string, number> = new Map(),
): SourceName {
  const filled = template
    .replaceAll('{slug}', () => slugOf(installation.targetName) || installation.target)
    .replaceAll('{company}', () => installation.target)
    .replaceAll('{installation}', () => installation.id);
  return freeName(cleaned(filled) || cleaned(installation.target) || 'source', isTaken, reached);
}

/**
 * Returns the name, or the name with the first number that is free. `reached` has the number where the search for each name
 * begins: with a common one, thousands of sources of one name take no longer than others. While it is used, no name may become free.
 */
export function freeName(
  name: string,
  isTaken: (name: SourceName) => boolean,
  reached: Map<string, number> = new Map(),
): SourceName {
  for (let number = reached.get(name) ?? 1; ; number += 1) {
    const ending = number === 1 ? '' : `-${number}`;
    const candidate = parseSourceName(`${name.slice(0, longestName - ending.length)}${ending}`);
    if (candidate === undefined) throw new Error('a cleaned name is the name of a source');
    if (isTaken(candidate)) continue;
    reached.set(name, number);
    return candidate;
  }
}

/** Returns the text with what a source name may consist of. */
function cleaned(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, lengthMax)
    .replace(/[._-]+$/, '');
}
