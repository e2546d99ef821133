import { withValue } from './overrides.js';
import { isWithin, type Path, valueAt } from './path.js';
import { draftSchema, type Settings } from './settings.js';
import { sourceName } from './values.js';

/**
 * What can be understood of settings that have mistakes in them: each piece with one is replaced by a piece that
 * has none, so that rules over several values can be asked about the rest and every problem is told at once.
 */
export interface Salvaged {
  readonly settings: Settings;
  /** Whether what stands at this place was made up here: what a rule says about it means nothing. */
  isMadeUp(path: Path): boolean;
}

const secret = { env: 'UNKNOWN' };
const url = 'https://unknown.invalid';

/** Null when even that leads nowhere. `wrong` are the places of the mistakes, unknown keys included. */
export function salvage(input: unknown, wrong: readonly Path[]): Salvaged | null {
  const madeUp: Path[] = [];
  const real: Path[] = [];
  let mended = input;
  const isWrong = (path: Path) => wrong.some((place) => isWithin(place, path));
  const put = (path: Path, value: unknown) => {
    mended = withValue(mended, path, value);
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

  let namesKnown = !isWrong(['sources']) || Array.isArray(valueAt(input, ['sources']));
  for (const index of items('sources').keys())
    if (isWrong(['sources', index])) namesKnown = stub(['sources', index], { token: secret }) && namesKnown;
  for (const index of items('notices').keys()) {
    if (isWrong(['notices', index])) stub(['notices', index], { kind: 'http', url, secret });
    else if (!namesKnown) madeUp.push(['notices', index, 'rules', 'sources']);
  }
  const platform = valueAt(input, ['platform']);
  if (isWrong(['platform'])) {
    const management = valueAt(platform, ['management']);
    const broken = platform === undefined || isWrong(['platform', 'management']);
    put(['platform'], { baseUrl: url, ...(management === undefined ? {} : { management }) });
    if (broken) put(['platform', 'management'], { token: secret });
    else real.push(['platform', 'management']);
  }
  for (const [root] of wrong)
    if (root === 'receiver' || root === 'console') put([root], null);
    else if (!['sources', 'notices', 'platform'].includes(String(root))) put([root ?? ''], undefined);

  const parsed = draftSchema.safeParse(withoutGaps(mended));
  if (!parsed.success) return null;
  return {
    settings: parsed.data,
    isMadeUp: (path) =>
      madeUp.some((place) => isWithin(path, place)) && !real.some((place) => isWithin(path, place)),
  };
}

/** Its own name, if it is one: others may refer to it, or have the same. */
function nameIn(item: unknown): string | undefined {
  const name = valueAt(item, ['name']);
  return sourceName.safeParse(name).success ? String(name) : undefined;
}

/** An unknown section goes, and one with mistakes falls back to its default. */
function withoutGaps(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== undefined));
}
