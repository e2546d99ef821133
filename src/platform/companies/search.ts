import { companySearchLimit } from '../../wire/limits.js';
import { type CompanyRow, companiesOf, roundsOfCompany } from '../catalog/rounds.js';
import { type Viewer, viewerOf } from '../catalog/viewer.js';
import { pageVisible } from '../catalog/visibility.js';
import type { searchCompanies } from '../contract/companies.js';
import { callerOf, type Exchange, ok, type Reply } from '../http/exchange.js';
import { pageSizeOf } from '../http/paging.js';
import { badParameter } from '../http/problem.js';
import type { Services } from '../services.js';
import { cardAttributes } from './card.js';
import { containsBeginning, wordsIn } from './words.js';

const queryBytesMax = 500;

export function answerSearch(exchange: Exchange<typeof searchCompanies>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const q = query.q.trim();
  if (q === '') throw badParameter('q', 'q must not be blank.');
  if (Buffer.byteLength(q) > queryBytesMax)
    throw badParameter('q', `q must be at most ${queryBytesMax} bytes.`);
  const limit = pageSizeOf(query.limit, companySearchLimit, 'limit');
  const viewer = viewerOf(services.state, callerOf(exchange));
  const found = companiesOf(services.state, viewer.realm)
    .filter((company) => mayBeFound(company, viewer))
    .map((company) => ({ company, rank: rankOf(company, wordsIn(q)) }))
    .filter(({ rank }) => rank < unmatched)
    .sort((a, b) => a.rank - b.rank || a.company.company_no - b.company.company_no)
    .filter(({ company }) => everRaised(services, company, now))
    .slice(0, limit);
  return ok({
    data: found.map(({ company }) => ({
      id: company.company_id,
      type: 'company',
      attributes: cardAttributes(services, company, viewer, now),
    })),
    meta: { query: q, count: found.length },
  });
}

/** Anyone can find an accredited-only company by name, but not open it. Vault companies cannot be found. */
function mayBeFound(company: CompanyRow, viewer: Viewer): boolean {
  if (pageVisible(company, viewer)) return true;
  return company.hidden === 0 && company.approved_at !== null && company.audience === 'accredited';
}

const unmatched = 4;

/** Ranks an exact name first, then a name prefix, then words in the name, then words in the tagline. */
function rankOf(company: CompanyRow, words: readonly string[]): number {
  if (words.length === 0) return unmatched;
  const name = wordsIn(company.company_name);
  if (name.join(' ') === words.join(' ')) return 0;
  if (containsBeginning(name.slice(0, words.length), words)) return 1;
  if (words.every((word) => containsBeginning(name, [word]))) return 2;
  return words.every((word) => containsBeginning(wordsIn(company.tagline ?? ''), [word])) ? 3 : unmatched;
}

const everRaised = (services: Services, company: CompanyRow, now: number): boolean =>
  roundsOfCompany(services, company.company_no, now).some(
    (round) => round.status === 'open' || round.status === 'closed',
  );
