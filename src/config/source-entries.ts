import type { Path } from './path.js';
import type { Settings } from './settings.js';

/** An entry of `sources` names one source, or it is a rule that creates sources. */
type Entries = Settings['sources'];
type Entry = Entries[number];

export type ListedSource = Extract<Entry, { readonly follow?: undefined }>;
export type FollowRuleSettings = Exclude<Entry, ListedSource>;
export type AccessSettings = Pick<Entry, 'token' | 'credentials'>;

/** Returns the entries that name a source, each with its place in the configuration. */
export function listedSources(
  entries: Entries,
): readonly { source: ListedSource; at: Path; index: number }[] {
  return entries.flatMap((source, index) =>
    source.follow === undefined ? [{ source, at: ['sources', index], index }] : [],
  );
}

/** Returns the follow rules, each with its place in the configuration. */
export function followRules(
  entries: Entries,
): readonly { rule: FollowRuleSettings; at: Path; index: number }[] {
  return entries.flatMap((rule, index) =>
    rule.follow === undefined ? [] : [{ rule, at: ['sources', index], index }],
  );
}

/** Lets a token read investor records at all. */
export const recordsScope = 'read:investments';

/** Lets a token read names of investors. */
export const namesScope = 'read:investors:pii';

type Identity = Settings['identity'];

/** Returns whether a rule stores names: as it says, unless the configuration drops all. */
export function identityOf({ identity }: FollowRuleSettings, ofAll: Identity): Identity {
  return ofAll === 'drop' ? 'drop' : (identity ?? ofAll);
}

/** Returns the scopes of the tokens of a rule. Without `scopes` these are the ones that rosterd uses. */
export function scopesOf(rule: FollowRuleSettings, ofAll: Identity): readonly string[] {
  if (rule.scopes !== undefined) return [...new Set(rule.scopes)];
  const names = identityOf(rule, ofAll) === 'keep' ? [namesScope] : [];
  return ['read:companies', recordsScope, ...names];
}
