import type { CompanyRow, Round } from './rounds.js';
import type { Viewer } from './viewer.js';

/** Below this, raised and reserved together, a company is not promoted: it has to bring its first backers itself. */
export const tractionBarCents = 100_000;

type Standing = Pick<CompanyRow, 'company_no' | 'audience' | 'approved_at' | 'hidden'>;

/** The site's rule for a company's page, and so for every tab of it. */
export function pageVisible(company: Standing, viewer: Viewer): boolean {
  if (viewer.teamOf.has(company.company_no)) return true;
  if (company.hidden === 1) return false;
  if (viewer.investedIn.companies.has(company.company_no)) return true;
  if (company.approved_at === null) return false;
  switch (company.audience) {
    case 'everyone':
      return true;
    case 'accredited':
      return viewer.accredited;
    case 'vault':
      return viewer.vault;
  }
}

/** In the directory anyone may leaf through: approved, open to everyone, and with backers of its own. */
export function inDirectory(company: Standing & Pick<Round, 'traction_cents'>): boolean {
  return (
    company.hidden === 0 &&
    company.approved_at !== null &&
    company.audience === 'everyone' &&
    company.traction_cents >= tractionBarCents
  );
}

/** A round offered without general solicitation is shown to those it was offered to. */
export const isPrivate = (round: Pick<Round, 'exemption_subtype'>): boolean =>
  round.exemption_subtype === '506b';

/** What the public view lists is exactly what it resolves by id. */
export function publiclyVisible(round: Round): boolean {
  return (round.status === 'open' || round.status === 'closed') && !isPrivate(round) && inDirectory(round);
}

/** Everything public, and what this person may see besides: never less than anyone sees. */
export function roundVisible(round: Round, viewer: Viewer): boolean {
  if (publiclyVisible(round)) return true;
  if (viewer.userNo === null) return false;
  if (viewer.teamOf.has(round.company_no)) return true;
  if (round.hidden === 1 || round.status === 'upcoming') return false;
  if (viewer.investedIn.offerings.has(round.no) || viewer.invitedTo.has(round.no)) return true;
  if (round.status === 'canceled' || isPrivate(round)) return false;
  return pageVisible(round, viewer);
}
