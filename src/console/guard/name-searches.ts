import { type Random, randomText } from '../../runtime/random.js';

/** More pages than somebody keeps open or goes back through. */
const searchesMax = 50;

/**
 * The names that were searched for in one browser. An address must not hold a name, since it ends up in histories and
 * logs, so it holds a key that means something in this session alone. Each page keeps its own search that way, and
 * whatever leaves the key out of its address is not narrowed.
 */
export class NameSearches {
  /** In the order of use. */
  readonly #texts = new Map<string, string>();

  constructor(private readonly random: Random) {}

  /** Returns the key of a text; the same one for the same text. */
  keyOf(text: string): string {
    const held = [...this.#texts].find(([, one]) => one === text);
    const key = held?.[0] ?? randomText(this.random, 16);
    this.#texts.delete(key);
    this.#texts.set(key, text);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > searchesMax && oldest !== undefined) this.#texts.delete(oldest);
    return key;
  }

  /** Returns the text of a key; undefined when it was forgotten or belongs to another session. */
  textOf(key: string): string | undefined {
    return this.#texts.get(key);
  }

  forget(): void {
    this.#texts.clear();
  }
}
