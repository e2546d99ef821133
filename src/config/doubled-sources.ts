import type { Clash } from './clash.js';
import type { Settings } from './settings.js';

/*
 * Two sources that read the same records hold and count each of them twice: every total over all sources is wrong, and
 * nothing else shows it. An id of a company belongs to one realm, so company, filters and account are what a source
 * reads. Sources of one company are legitimate when their filters exclude one another, and when they are two accounts
 * that are told apart (two installations, or a person's sign-in beside the company's token): then the same record may
 * be visible to both, which is said and not refused.
 */

type Source = Settings['sources'][number];

/** Sources that read exactly what an earlier one reads. */
export function doubledSources(sources: readonly Source[]): readonly Clash[] {
  return sources.flatMap((source, index) => {
    const first = sources.findIndex((other) => isSame(other, source));
    // One name for both is a problem of its own.
    if (first === index || sources[first]?.name === source.name) return [];
    return [
      {
        path: ['sources', index],
        message: `reads what sources[${first}] ("${sources[first]?.name}") reads; every record would be counted twice`,
        hint: 'keep one of them. Two accounts on one company are told apart by "installation"',
      },
    ];
  });
}

/** Sources of which some records are held twice, although each has a reason of its own. */
export function overlappingSources(sources: readonly Source[]): readonly string[] {
  return sources.flatMap((source, index) =>
    sources
      .slice(0, index)
      .flatMap((other, before) =>
        companyOf(source) !== undefined && !isSame(other, source) && mayShare(other, source)
          ? [
              `sources[${index}] ("${source.name}") and sources[${before}] ("${other.name}") both read ${companyOf(source)}: a record that both see is counted twice in totals over all sources`,
            ]
          : [],
      ),
  );
}

const companyOf = ({ company, filters }: Source): string | undefined => company ?? filters.companyId;

const selectionOf = (source: Source) => [
  companyOf(source),
  source.filters.offeringId,
  source.filters.investorId,
];

function isSame(one: Source, other: Source): boolean {
  const selected = selectionOf(other);
  return selectionOf(one).every((value, index) => value === selected[index]) && isSameAccount(one, other);
}

/** Tokens of one company are taken for one account unless their installations say otherwise. */
function isSameAccount(one: Source, other: Source): boolean {
  if (one.installation !== undefined && other.installation !== undefined)
    return one.installation === other.installation;
  if (companyOf(one) !== undefined && one.token !== undefined && other.token !== undefined) return true;
  return accessOf(one) === accessOf(other);
}

const accessOf = ({ token, credentials }: Source): string => JSON.stringify(token ?? credentials);

/** Where both name a value and the values differ, no record fits both. */
function mayShare(one: Source, other: Source): boolean {
  const selected = selectionOf(other);
  return selectionOf(one).every(
    (value, index) => value === undefined || selected[index] === undefined || value === selected[index],
  );
}
