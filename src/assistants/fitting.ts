import { answerCharactersMax } from './answer.js';

/** Returns the first items as JSON, as many as fit into an answer; with `least`, at least so many. */
export function fitting(items: readonly unknown[], least = 0): readonly string[] {
  const texts: string[] = [];
  let left = answerCharactersMax;
  for (const item of items) {
    const text = JSON.stringify(item);
    left -= text.length + 1;
    if (left < 0 && texts.length >= least) break;
    texts.push(text);
  }
  return texts;
}

/** Returns an object as JSON, with a last member that is a list of JSON texts. */
export function withList(about: object, name: string, texts: readonly string[]): string {
  return `${JSON.stringify(about).slice(0, -1)},${JSON.stringify(name)}:[${texts.join(',\n')}]}`;
}

/** Returns `notes`, or nothing without one. */
export function notesOf(notes: readonly string[]): { readonly notes?: readonly string[] } {
  return notes.length === 0 ? {} : { notes };
}
