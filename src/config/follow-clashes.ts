import { accessClashes } from './access-clashes.js';
import type { Clash } from './clash.js';
import type { Path } from './path.js';
import type { Settings } from './settings.js';
import {
  type FollowRuleSettings,
  followRules,
  identityOf,
  listedSources,
  namesScope,
  recordsScope,
} from './source-entries.js';

/** Rules over follow rules. */

type PlacedRule = ReturnType<typeof followRules>[number];

export function followClashes(settings: Settings): readonly Clash[] {
  const rules = followRules(settings.sources);
  return [
    ...rules.flatMap(({ rule, at }) => [
      ...accessClashes(rule, at, 'MANAGER_TOKEN'),
      ...scopeClashes(rule, at, settings.identity),
    ]),
    ...repeatedRules(rules),
    ...overrideClashes(settings),
  ];
}

/** Two rules of one name would share entries of the registry, and two of one account would follow each company twice. */
function repeatedRules(rules: readonly PlacedRule[]): readonly Clash[] {
  return rules.flatMap(({ rule, at, index }): Clash[] => {
    const before = rules.filter((other) => other.index < index);
    const named = before.find((other) => other.rule.rule === rule.rule);
    if (named !== undefined)
      return [
        {
          path: [...at, 'rule'],
          message: `is ${rule.rule}, the name of the rule at sources[${named.index}]; expected another name`,
        },
      ];
    const same = before.find((other) => accountOf(other.rule) === accountOf(rule));
    return same === undefined
      ? []
      : [
          {
            path: at,
            message: `follows the same installations as sources[${same.index}]; every record would be counted twice`,
            hint: 'keep one of the two rules',
          },
        ];
  });
}

const accountOf = ({ token, credentials }: FollowRuleSettings): string =>
  JSON.stringify(token ?? credentials);

function scopeClashes(rule: FollowRuleSettings, at: Path, otherwise: Settings['identity']): readonly Clash[] {
  const { scopes } = rule;
  if (scopes === undefined) return [];
  const path = [...at, 'scopes'];
  const clashes: Clash[] = [];
  if (!scopes.includes(recordsScope))
    clashes.push({
      path,
      message: `lacks ${recordsScope}, without which a token reads no investments`,
      hint: `add "${recordsScope}", or remove "scopes" for the default`,
    });
  if (identityOf(rule, otherwise) === 'keep' && !scopes.includes(namesScope))
    clashes.push({
      path,
      message: `lacks ${namesScope}, and identity is keep`,
      hint: `add "${namesScope}", or set "identity": "drop" in this rule`,
    });
  return clashes;
}

/** The name of a source is the key of everything stored of it. */
function overrideClashes({ sources }: Settings): readonly Clash[] {
  const taken = new Map(listedSources(sources).map(({ source, at }) => [source.name, `sources[${at[1]}]`]));
  return followRules(sources).flatMap(({ rule, at, index }) =>
    Object.entries(rule.overrides).flatMap(([installation, { name }]) => {
      if (name === undefined) return [];
      const owner = taken.get(name);
      taken.set(name, owner ?? `${installation} in sources[${index}].overrides`);
      return owner === undefined
        ? []
        : [
            {
              path: [...at, 'overrides', installation, 'name'],
              message: `is ${name}, the name of ${owner}; expected another name`,
            },
          ];
    }),
  );
}

/** Returns a warning for each rule that says to keep names although the configuration drops all. */
export function keptInVain({ sources, identity }: Settings): readonly string[] {
  if (identity !== 'drop') return [];
  return followRules(sources).flatMap(({ rule, index }) =>
    rule.identity === 'keep'
      ? [`sources[${index}].identity is keep, and identity is drop: no names are kept, of any source`]
      : [],
  );
}

/** Returns a warning for each listed source whose installation a rule may follow, too. */
export function followedTwice(sources: Settings['sources']): readonly string[] {
  return listedSources(sources).flatMap(({ source: { name, installation }, index }) =>
    followRules(sources).flatMap(({ rule, index: follower }) =>
      installation === undefined || rule.except.includes(installation)
        ? []
        : [
            `sources[${index}] ("${name}") has ${installation}, which the rule sources[${follower}] follows too if it belongs to its application: its records would be counted twice. Add it to "except" of the rule, or remove the source`,
          ],
    ),
  );
}
