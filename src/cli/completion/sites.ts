import type { Place } from './offers.js';

/** A flag behind its command, as the shells see them: `export --format`. */
const siteOf = (path: string, long: string): string => `${path} ${long}`;

/** Where a value of this kind is typed. */
export function sites(places: readonly Place[], kind: 'file' | 'free'): readonly string[] {
  return places.flatMap(({ path, flags }) =>
    flags.filter(({ value }) => value?.kind === kind).map(({ long }) => siteOf(path, long)),
  );
}

/** Where one of a few words is typed; places with the same words stand together. */
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

/** `'config'|'config show'`: how bash and zsh write a list of things to compare with. */
export function alternatives(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join('|');
}
