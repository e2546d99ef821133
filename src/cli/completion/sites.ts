import type { Place } from './offers.js';

/** The key of a flag in the completion scripts: `export --format`. */
const siteOf = (path: string, long: string): string => `${path} ${long}`;

/** Returns the flags that take a value of this kind. */
export function sites(places: readonly Place[], kind: 'file' | 'free'): readonly string[] {
  return places.flatMap(({ path, flags }) =>
    flags.filter(({ value }) => value?.kind === kind).map(({ long }) => siteOf(path, long)),
  );
}

/** Returns the flags that take one of a few words, grouped by those words. */
export function choiceSites(
  places: readonly Place[],
): readonly { readonly choices: readonly string[]; readonly at: readonly string[] }[] {
  const byChoices = new Map<string, string[]>();
  for (const { path, flags } of places) {
    for (const { long, value } of flags) {
      if (value?.kind !== 'choice') continue;
      const key = value.choices.join(' ');
      byChoices.set(key, [...(byChoices.get(key) ?? []), siteOf(path, long)]);
    }
  }
  return [...byChoices].map(([key, at]) => ({ choices: key.split(' '), at }));
}

/** Returns a `case` pattern of bash and zsh: `'config'|'config show'`. */
export function alternatives(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join('|');
}
