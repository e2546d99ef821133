import { type CompanyRow, companyColumns, roundsOfCompany } from '../catalog/rounds.js';
import { siteUrl } from '../catalog/site.js';
import { type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { all } from '../state/statements.js';

const teamSql = `SELECT ${companyColumns}, m.tier FROM company_members m JOIN companies c ON c.no = m.company_no
  LEFT JOIN company_profiles p ON p.company_no = c.no WHERE m.user_no = ? AND c.realm = ? ORDER BY c.no`;

export function answerMyCompanies(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const { userNo, realm } = userOf(exchange);
  const rows = all<CompanyRow & { tier: string }>(services.state, teamSql, [userNo, realm]);
  return ok({
    data: rows.map((company) => ({
      id: company.company_id,
      type: 'company',
      attributes: {
        name: company.company_name,
        tagline: company.tagline,
        url: siteUrl(services, company.slug),
        roles: [company.tier === 'founder' ? 'founder' : 'employee'],
        raising: roundsOfCompany(services, company.company_no, now).some((round) => round.status === 'open'),
      },
    })),
    meta: { count: rows.length, has_more: false, page_count: rows.length, next_cursor: null },
  });
}
