import { type Random, randomText } from '../../runtime/random.js';

/** More than a user keeps open or goes back to. */
const searchesMax = 50;

/**
 * The names searched for in one browser session. Page addresses end up in browser histories and logs, so they must not
 * contain a name: they contain a key that is valid only in this session. Each page keeps its own search this way, and a
 * page without a key is not filtered.
 */
export class NameSearches {
  /** Least recently used first. */
  readonly #texts = new Map<string, string>();

  constructor(private readonly random: Random) {}

  /** Returns the key of a text, the same key for the same text. */
  keyOf(text: string): string {
    const known = [...this.#texts].find(([, one]) => one === text);
    const key = known?.[0] ?? randomText(this.random, 16);
    this.#texts.delete(key);
    this.#texts.set(key, text);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > searchesMax && oldest !== undefined) this.#texts.delete(oldest);
    return key;
  }

  /** Returns the text of a key; undefined when it was dropped or belongs to another session. */
  textOf(key: string): string | undefined {
    return this.#texts.get(key);
  }

  forget(): void {
    this.#texts.clear();
  }
}
