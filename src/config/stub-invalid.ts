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
  const madeUp: Path[] = [];
  const real: Path[] = [];
  let stubbed = input;
  const isWrong = (path: Path) => wrong.some((place) => isWithin(place, path));
  const put = (path: Path, value: unknown) => {
    stubbed = withValue(stubbed, path, value);
    madeUp.push(path);
  };
  const items = (list: string): readonly unknown[] => {
    const found = valueAt(input, [list]);
    if (Array.isArray(found)) return found;
    if (isWrong([list])) put([list], []);
    return [];
  };
  const stub = (path: Path, more: object): boolean => {
    const name = nameIn(valueAt(input, path));
    put(path, { name: name ?? path.join('-'), ...more });
    if (name !== undefined) real.push([...path, 'name']);
    return name !== undefined;
  };

  const stubRule = (path: Path) => {
    const { data: rule } = sourceName.safeParse(valueAt(input, [...path, 'rule']) ?? 'installations');
    // Two stubs of one account would be the same rule twice.
    const credentials = { file: path.join('-'), clientId: 'pk_unknown' };
    put(path, { follow: 'installations', rule: rule ?? path.join('-'), credentials });
    if (rule !== undefined) real.push([...path, 'rule']);
  };

  let namesKnown = !isWrong(['sources']) || Array.isArray(valueAt(input, ['sources']));
  for (const index of items('sources').keys()) {
    if (!isWrong(['sources', index])) continue;
    if (valueAt(input, ['sources', index, 'follow']) !== undefined) stubRule(['sources', index]);
    else namesKnown = stub(['sources', index], { token: secret }) && namesKnown;
  }
  for (const index of items('notices').keys()) {
    if (isWrong(['notices', index])) stub(['notices', index], { kind: 'http', url, secret });
    else if (!namesKnown) madeUp.push(['notices', index, 'rules', 'sources']);
  }
  for (const index of items('afterSync').keys()) {
    if (isWrong(['afterSync', index])) stub(['afterSync', index], { kind: 'http', url, secret });
    else if (!namesKnown) madeUp.push(['afterSync', index, 'sources']);
  }
  const platform = valueAt(input, ['platform']);
  if (isWrong(['platform'])) {
    const management = valueAt(platform, ['management']);
    const broken = platform === undefined || isWrong(['platform', 'management']);
    put(['platform'], { baseUrl: url, ...defined({ management }) });
    if (broken) put(['platform', 'management'], { token: secret });
    else real.push(['platform', 'management']);
  }
  for (const [root] of wrong)
    if (root === 'receiver' || root === 'console') put([root], null);
    else if (!['sources', 'notices', 'afterSync', 'platform'].includes(String(root)))
      put([root ?? ''], undefined);

  const parsed = draftSchema.safeParse(withoutUndefined(stubbed));
  if (!parsed.success) return null;
  return {
    settings: parsed.data,
    isMadeUp: (path) =>
      madeUp.some((place) => isWithin(path, place)) && !real.some((place) => isWithin(path, place)),
  };
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
