import { badParameter } from './problem.js';

/** Parses `a,b`, a repeated key, or both. Returns undefined when absent; throws a 400 for a value not in the vocabulary. */
export function wordsOf<Word extends string>(
  parameter: string,
  given: string | readonly string[] | undefined,
  vocabulary: readonly Word[],
): readonly Word[] | undefined {
  if (given === undefined) return undefined;
  const words = (typeof given === 'string' ? [given] : given)
    .flatMap((part) => part.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const known = (word: string): word is Word => (vocabulary as readonly string[]).includes(word);
  const unknown = words.find((word) => !known(word));
  if (unknown !== undefined || words.length === 0) {
    const wrong = unknown === undefined ? 'an empty list' : JSON.stringify(unknown.slice(0, 60));
    throw badParameter(parameter, `${parameter} does not take ${wrong}. Accepted: ${vocabulary.join(', ')}.`);
  }
  return [...new Set(words.filter(known))];
}

export const flagOf = (text: 'true' | 'false' | undefined): boolean | undefined =>
  text === undefined ? undefined : text === 'true';
