import { closest } from '../domain/closest.js';
import { contentFields, identityFields } from '../domain/investment.js';
import type { Config } from './config.js';
import { shownValue } from './shown-value.js';

/** What `fields` of a change may name. */
const changedFields: readonly string[] = [
  ...contentFields,
  ...identityFields.map((field) => `identity.${field}`),
];

/**
 * Returns a warning for each column of `notices[].rules.fields` that no change has. Such a rule was always allowed, so it is
 * no error. Apart from the other warnings, because only commands that look at notices need the names of the columns.
 */
export function unknownFields({ notices }: Pick<Config, 'notices'>): readonly string[] {
  return notices.flatMap(({ rules }, index) =>
    (rules.fields ?? []).flatMap((name, at) => {
      if (changedFields.includes(name)) return [];
      const meant = closest(name, changedFields);
      return [
        `notices[${index}].rules.fields[${at}] is ${shownValue(name)}, which is no column of an investment: it matches no change${meant === undefined ? '' : `; did you mean ${meant}?`}`,
      ];
    }),
  );
}
