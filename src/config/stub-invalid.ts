import { defined } from '../domain/defined.js';
import { withValue } from './overrides.js';
import { isWithin, type Path, valueAt } from './path.js';
import { draftSchema, type Settings } from './settings.js';
import { sourceName } from './values.js';

/**
 * Invalid settings with each invalid piece replaced by a valid stub, so that the rules over several values can check the
 * rest and every problem is reported at once.
 */
export interface StubbedSettings {
  readonly settings: Settings;
  /** Returns true when the value at this path is a stub: problems that a rule finds there do not count. */
  isMadeUp(path: Path): boolean;
}

const secret = { env: 'UNKNOWN' };
const url = 'https://unknown.invalid';

/** Returns null when the settings stay invalid. `wrong` has the paths of the mistakes, unknown keys included. */
export function stubInvalid(input: unknown, wrong: readonly Path[]): StubbedSettings | null {
  const stubs = new Stubs(input, wrong);
  const namesKnown = stubs.replaceSources();
  stubs.replaceHooks('notices', namesKnown ? null : ['rules', 'sources']);
  stubs.replaceHooks('afterSync', namesKnown ? null : ['sources']);
  stubs.replacePlatform();
  stubs.replaceOthers();
  const parsed = draftSchema.safeParse(withoutUndefined(stubs.settings));
  if (!parsed.success) return null;
  return { settings: parsed.data, isMadeUp: (path) => stubs.isMadeUp(path) };
}

class Stubs {
  settings: unknown;
  readonly #madeUp: Path[] = [];
  /** Values within a stub that are as they were written. */
  readonly #real: Path[] = [];

  constructor(
    private readonly input: unknown,
    private readonly wrong: readonly Path[],
  ) {
    this.settings = input;
  }

  isMadeUp(path: Path): boolean {
    const isIn = (places: readonly Path[]) => places.some((place) => isWithin(path, place));
    return isIn(this.#madeUp) && !isIn(this.#real);
  }

  /** Returns whether the names of all sources are known. */
  replaceSources(): boolean {
    let namesKnown = !this.#isWrong(['sources']) || Array.isArray(valueAt(this.input, ['sources']));
    for (const path of this.#itemsOf('sources')) {
      if (!this.#isWrong(path)) continue;
      if (valueAt(this.input, [...path, 'follow']) !== undefined) this.#replaceRule(path);
      else namesKnown = this.#replaceNamed(path, { token: secret }) && namesKnown;
    }
    return namesKnown;
  }

  /** `unknown` is the path of the names in a valid item that may be those of sources with a stub, or null. */
  replaceHooks(list: 'notices' | 'afterSync', unknown: Path | null): void {
    for (const path of this.#itemsOf(list))
      if (this.#isWrong(path)) this.#replaceNamed(path, { kind: 'http', url, secret });
      else if (unknown !== null) this.#madeUp.push([...path, ...unknown]);
  }

  replacePlatform(): void {
    if (!this.#isWrong(['platform'])) return;
    const platform = valueAt(this.input, ['platform']);
    const management = valueAt(platform, ['management']);
    const broken = platform === undefined || this.#isWrong(['platform', 'management']);
    this.#put(['platform'], { baseUrl: url, ...defined({ management }) });
    if (broken) this.#put(['platform', 'management'], { token: secret });
    else this.#real.push(['platform', 'management']);
  }

  replaceOthers(): void {
    for (const [root] of this.wrong)
      if (root === 'receiver' || root === 'console') this.#put([root], null);
      else if (!['sources', 'notices', 'afterSync', 'platform'].includes(String(root)))
        this.#put([root ?? ''], undefined);
  }

  #isWrong(path: Path): boolean {
    return this.wrong.some((place) => isWithin(place, path));
  }

  #put(path: Path, value: unknown): void {
    this.settings = withValue(this.settings, path, value);
    this.#madeUp.push(path);
  }

  /** Returns the paths of the items. Replaces a list that is none by an empty one. */
  #itemsOf(list: string): readonly Path[] {
    const found = valueAt(this.input, [list]);
    if (Array.isArray(found)) return [...found.keys()].map((index) => [list, index]);
    if (this.#isWrong([list])) this.#put([list], []);
    return [];
  }

  /** Returns whether the item had a valid name, which the stub keeps. */
  #replaceNamed(path: Path, more: object): boolean {
    const name = nameIn(valueAt(this.input, path));
    this.#put(path, { name: name ?? path.join('-'), ...more });
    if (name !== undefined) this.#real.push([...path, 'name']);
    return name !== undefined;
  }

  #replaceRule(path: Path): void {
    const { data: rule } = sourceName.safeParse(valueAt(this.input, [...path, 'rule']) ?? 'installations');
    // Two stubs of one account would be the same rule twice.
    const credentials = { file: path.join('-'), clientId: 'pk_unknown' };
    this.#put(path, { follow: 'installations', rule: rule ?? path.join('-'), credentials });
    if (rule !== undefined) this.#real.push([...path, 'rule']);
  }
}

/** Returns the item's name if it is valid: other options may refer to it or repeat it. */
function nameIn(item: unknown): string | undefined {
  const name = valueAt(item, ['name']);
  return sourceName.safeParse(name).success ? String(name) : undefined;
}

/** Removes undefined sections: unknown ones disappear, and invalid ones get their defaults. */
function withoutUndefined(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== undefined));
}
