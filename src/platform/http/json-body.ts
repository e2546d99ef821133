import { nestsDeeper } from '../../domain/json.js';
import { Problem } from './problem.js';

/**
 * No body of the API and no line of an imported file nests more than a few levels. What checks, stores or compares one
 * calls itself for each level, and would run out of stack at some thousands.
 */
export const levelsMax = 100;

/** Returns the value of a JSON body. Throws a 400 for text that is not JSON, or that nests too deeply. */
export function parseJsonBody(text: string): unknown {
  if (nestsDeeper(text, levelsMax))
    throw new Problem(400, 'bad_request', `The body is nested deeper than ${levelsMax} levels.`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, 'bad_request', 'The body is not valid JSON.');
  }
}
