import { closest } from '../domain/closest.js';
import { parseSourceName } from '../domain/ids.js';

/** What a template of source names may contain in braces. */
const placeholders = ['slug', 'company', 'installation'] as const;

const longestName = 63;
/** A name has at least this much room for what the placeholders stand for. */
const leastRoom = 24;

/** Returns true for a template of which each installation gets a name of its own, and each name is valid. */
export function isSourceTemplate(text: string): boolean {
  const named = namedIn(text);
  return named.length > 0 && named.every(isKnown) && givesNames(text);
}

/** Returns the end of "expected …" for a text that is no template. */
export function expectedTemplate(text: string): string {
  const known = placeholders.map((name) => `{${name}}`).join(', ');
  const named = namedIn(text);
  const unknown = named.find((name) => !isKnown(name));
  if (unknown !== undefined) {
    const meant = closest(unknown, placeholders);
    return `one of ${known} for {${unknown}}${meant === undefined ? '' : `; did you mean {${meant}}?`}`;
  }
  if (named.length === 0) return `a template with one of ${known}, or every source would have the same name`;
  return `a template of valid names such as {slug}-rounds: lower-case letters, digits, ".", "_" and "-", at most ${longestName - leastRoom} beside ${known}`;
}

const placeholder = /\{([^{}]*)\}/g;

const namedIn = (text: string): readonly string[] =>
  [...text.matchAll(placeholder)].map(([, name = '']) => name);

const isKnown = (name: string): boolean => placeholders.some((known) => known === name);

function givesNames(template: string): boolean {
  const written = template.replaceAll(placeholder, '').length;
  return (
    written <= longestName - leastRoom && parseSourceName(template.replaceAll(placeholder, 'x')) !== undefined
  );
}
