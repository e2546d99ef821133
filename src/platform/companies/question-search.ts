import type { Question } from './comments.js';
import { contains, containsBeginning, wordsIn } from './words.js';

export interface QuestionQuery {
  readonly phrases: readonly (readonly string[])[];
  readonly words: readonly string[];
  readonly without: readonly string[];
  /** Short queries match word prefixes, because the user is probably still typing. */
  readonly prefix: boolean;
}

/** Parses words, "quoted phrases" and excluded -words. Returns null when there is nothing to search for. */
export function parseQuestionQuery(q: string): QuestionQuery | null {
  const phrases: (readonly string[])[] = [];
  const rest = q.replace(/"([^"]*)"/g, (_, phrase: string) => {
    const words = wordsIn(phrase);
    if (words.length > 0) phrases.push(words);
    return ' ';
  });
  const parts = rest.split(/\s+/);
  const without = parts.filter((part) => part.startsWith('-')).flatMap(wordsIn);
  const words = parts.filter((part) => !part.startsWith('-')).flatMap(wordsIn);
  if (phrases.length + words.length + without.length === 0) return null;
  return { phrases, words, without, prefix: phrases.length === 0 && words.length <= 2 };
}

/** Returns where the query matches: entirely in the question or entirely in one answer, without excluded words. */
export function matchOf(query: QuestionQuery, question: Question): 'question' | 'answer' | null {
  const asked = wordsIn(question.body);
  const answers = question.answers.map((answer) => wordsIn(answer.body));
  const excluded = [asked, ...answers].some((text) => query.without.some((word) => contains(text, [word])));
  if (excluded) return null;
  const hasWord = query.prefix ? containsBeginning : contains;
  const matches = (text: readonly string[]) =>
    query.words.every((word) => hasWord(text, [word])) &&
    query.phrases.every((phrase) => contains(text, phrase));
  if (matches(asked)) return 'question';
  return answers.some(matches) ? 'answer' : null;
}
