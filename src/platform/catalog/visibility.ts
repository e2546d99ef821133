import type { CompanyRow, Round } from './rounds.js';
import type { Viewer } from './viewer.js';

/** Minimum of raised and reserved money for a company to be listed. Below it, the company is not promoted. */
const tractionBarCents = 100_000;

type Standing = Pick<CompanyRow, 'company_no' | 'audience' | 'approved_at' | 'hidden'>;

/** Returns whether the viewer may see the company's page and all its tabs. */
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

/** Returns whether the company is in the public directory: approved, open to everyone and above the traction bar. */
function inDirectory(company: Standing & Pick<Round, 'traction_cents'>): boolean {
  return (
    company.hidden === 0 &&
    company.approved_at !== null &&
    company.audience === 'everyone' &&
    company.traction_cents >= tractionBarCents
  );
}

/** Rounds offered without general solicitation (506(b)) are visible only to the people they were offered to. */
const isPrivate = (round: Pick<Round, 'exemption_subtype'>): boolean => round.exemption_subtype === '506b';

/** Returns whether the public view lists the round and resolves its id. */
export function publiclyVisible(round: Round): boolean {
  return (round.status === 'open' || round.status === 'closed') && !isPrivate(round) && inDirectory(round);
}

/** Returns whether the viewer may see the round. Every public round is visible to every viewer. */
export function roundVisible(round: Round, viewer: Viewer): boolean {
  if (publiclyVisible(round)) return true;
  if (viewer.userNo === null) return false;
  if (viewer.teamOf.has(round.company_no)) return true;
  if (round.hidden === 1 || round.status === 'upcoming') return false;
  if (viewer.investedIn.offerings.has(round.no) || viewer.invitedTo.has(round.no)) return true;
  if (round.status === 'canceled' || isPrivate(round)) return false;
  return pageVisible(round, viewer);
}
