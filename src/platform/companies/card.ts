import { type CompanyRow, roundsOfCompany } from '../catalog/rounds.js';
import { siteUrl } from '../catalog/site.js';
import type { Viewer } from '../catalog/viewer.js';
import { pageVisible, roundVisible } from '../catalog/visibility.js';
import type { Services } from '../services.js';

/** Returns the attributes of a company in a list, including whether the viewer may open its page. */
export function cardAttributes(services: Services, company: CompanyRow, viewer: Viewer, now: number) {
  return {
    name: company.company_name,
    tagline: company.tagline,
    url: siteUrl(services, company.slug),
    logo_url: company.logo_url,
    raising: roundsOfCompany(services, company.company_no, now).some(
      (round) => round.status === 'open' && roundVisible(round, viewer),
    ),
    profile_available: pageVisible(company, viewer),
  };
}
