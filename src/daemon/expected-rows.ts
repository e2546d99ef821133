import type { Api } from '../client/api.js';
import { readOfferingStats } from '../client/investments.js';
import type { SourceFilters } from '../config/config.js';
import { parseCompany, type RoundSummary } from '../dimensions/collections/companies.js';
import type { Interruption } from '../runtime/interruption.js';
import { paths } from '../wire/paths.js';

/** Of a company with more rounds, those with the fewest investors are not asked about, but estimated. */
const roundsMax = 4;

/**
 * Returns about how many records a listing under these filters reads, or null when the platform does not say: for one
 * investor, and for all companies of a token. The platform counts the records of a round, so that a round costs one request,
 * and a company one for the list of its rounds and one for each of them, of the largest four. Throws the `Fault` of a request
 * that fails.
 */
export async function expectedRows(
  api: Api,
  { companyId, offeringId, investorId }: SourceFilters,
  signal: Interruption,
): Promise<number | null> {
  if (investorId !== undefined) return null;
  if (offeringId !== undefined) return await recordsOf(api, offeringId, signal);
  if (companyId === undefined) return null;
  const { body } = await api({ path: paths.company, params: { id: companyId }, signal });
  const rounds = parseCompany(body).rounds.toSorted((one, other) => investorsOf(other) - investorsOf(one));
  if (rounds.length === 0) return null;
  let records = 0;
  for (const { id } of rounds.slice(0, roundsMax)) {
    const own = await recordsOf(api, id, signal);
    if (own === null) return null;
    records += own;
  }
  const all = records + estimated(records, rounds);
  return all > 0 && Number.isSafeInteger(all) ? all : null;
}

/** Returns the records of the rounds that were not asked about: as many per investor as the others have. */
function estimated(records: number, rounds: readonly RoundSummary[]): number {
  const investors = (some: readonly RoundSummary[]) =>
    some.reduce((sum, round) => sum + investorsOf(round), 0);
  const asked = investors(rounds.slice(0, roundsMax));
  return asked === 0 ? 0 : Math.round((records / asked) * investors(rounds.slice(roundsMax)));
}

const investorsOf = ({ investorCount }: RoundSummary): number => investorCount ?? 0;

async function recordsOf(api: Api, round: string, signal: Interruption): Promise<number | null> {
  return (await readOfferingStats(api, round, signal))?.total.count ?? null;
}
