import type { Clash } from './clash.js';
import type { Settings } from './settings.js';
import { listedSources, type ListedSource as Source } from './source-entries.js';

/*
 * Two sources that read the same records store and count each record twice: every total over all sources is then wrong,
 * and nothing else shows it. A company id belongs to one realm, so the company, the filters and the account determine
 * what a source reads. Two sources may share a company when their filters exclude each other. They may also share it
 * with two distinct accounts (two installations, or a person's sign-in and the company's token). A record may then be
 * visible to both, which is a warning and not an error.
 */

/** Returns an error for each source that reads exactly the same records as an earlier one. */
export function doubledSources(entries: Settings['sources']): readonly Clash[] {
  const sources = listedSources(entries);
  return sources.flatMap(({ source, at }) => {
    const first = sources.find((other) => isSame(other.source, source));
    // A repeated name is reported separately.
    if (first === undefined || first.source === source || first.source.name === source.name) return [];
    return [
      {
        path: at,
        message: `reads the same records as sources[${first.index}] ("${first.source.name}"); every record would be counted twice`,
        hint: 'keep one of them. To use two accounts of one company, set "installation" on both',
      },
    ];
  });
}

/** Returns a warning for each pair of sources that may store some records twice but is allowed. */
export function overlappingSources(entries: Settings['sources']): readonly string[] {
  const sources = listedSources(entries);
  return sources.flatMap(({ source, index }, at) =>
    sources
      .slice(0, at)
      .flatMap(({ source: other, index: before }) =>
        companyOf(source) !== undefined && !isSame(other, source) && mayShare(other, source)
          ? [
              `sources[${index}] ("${source.name}") and sources[${before}] ("${other.name}") both read ${companyOf(source)}: records visible to both are counted twice in totals over all sources`,
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

/** Treats tokens of one company as one account unless their installations differ. */
function isSameAccount(one: Source, other: Source): boolean {
  if (one.installation !== undefined && other.installation !== undefined)
    return one.installation === other.installation;
  if (companyOf(one) !== undefined && one.token !== undefined && other.token !== undefined) return true;
  return accessOf(one) === accessOf(other);
}

const accessOf = ({ token, credentials }: Source): string => JSON.stringify(token ?? credentials);

/** Returns false when both sources select different values of a field: no record matches both. */
function mayShare(one: Source, other: Source): boolean {
  const selected = selectionOf(other);
  return selectionOf(one).every(
    (value, index) => value === undefined || selected[index] === undefined || value === selected[index],
  );
}
