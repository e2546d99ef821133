import { recordActivity } from '../activity/record.js';
import { type CompanyRow, companyColumns, findCompany } from '../catalog/rounds.js';
import { personView, viewerOf } from '../catalog/viewer.js';
import { pageVisible } from '../catalog/visibility.js';
import { cardAttributes } from '../companies/card.js';
import type { listMyFollows } from '../contract/users.js';
import { callerOf, type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { pageOf, pageSizeOf } from '../http/paging.js';
import { notFound } from '../http/problem.js';
import { all, run } from '../state/statements.js';

const followsSql = `SELECT ${companyColumns}, f.followed_at FROM follows f JOIN companies c ON c.no = f.company_no
  LEFT JOIN company_profiles p ON p.company_no = c.no WHERE f.user_no = ? AND c.realm = ?`;

export function answerFollows(exchange: Exchange<typeof listMyFollows>): Reply {
  const { services, now } = exchange;
  const { state } = services;
  const query = exchange.input.query;
  const caller = callerOf(exchange);
  const { userNo, realm } = userOf(exchange);
  // Profile scopes list only companies that allow promotion; a scope that manages follows lists all of them.
  const whole = caller.scopes.has('write:follows') || caller.scopes.has('read:mcp');
  const viewer = viewerOf(state, caller);
  const follows = all<CompanyRow & { followed_at: number }>(state, followsSql, [userNo, realm]).filter(
    (company) => whole || company.promotion_opt_in === 1,
  );
  const page = pageOf(state, follows, (follow) => [-follow.followed_at, follow.company_id], {
    cursor: query.cursor,
    size: pageSizeOf(query.per_page),
    list: `follows:${userNo}`,
  });
  return ok({
    data: page.items.map((company) => ({
      id: company.company_id,
      type: 'company',
      attributes: {
        ...cardAttributes(services, company, viewer, now),
        followed_at: new Date(company.followed_at).toISOString(),
      },
    })),
    meta: page.meta,
  });
}

export function answerFollow(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const company = namedCompany(exchange);
  const { userNo, realm } = userOf(exchange);
  const alreadyFollowed = isFollowed(exchange, company);
  // A follower may repeat the request even if the page has since been hidden.
  if (!alreadyFollowed && !pageVisible(company, personView(services.state, realm, userNo)))
    throw notFound('The company');
  return settle(exchange, company, true, () =>
    run(services.state, 'INSERT OR IGNORE INTO follows (user_no, company_no, followed_at) VALUES (?, ?, ?)', [
      userNo,
      company.company_no,
      now,
    ]),
  );
}

export function answerUnfollow(exchange: Exchange): Reply {
  const company = namedCompany(exchange);
  return settle(exchange, company, false, () =>
    run(exchange.services.state, 'DELETE FROM follows WHERE user_no = ? AND company_no = ?', [
      userOf(exchange).userNo,
      company.company_no,
    ]),
  );
}

function namedCompany(exchange: Exchange): CompanyRow {
  const { realm } = userOf(exchange);
  const company = findCompany(exchange.services.state, realm, exchange.params.company_id ?? '');
  if (company === undefined) throw notFound('The company');
  return company;
}

const isFollowed = (exchange: Exchange, company: CompanyRow): boolean =>
  all(exchange.services.state, 'SELECT 1 FROM follows WHERE user_no = ? AND company_no = ?', [
    userOf(exchange).userNo,
    company.company_no,
  ]).length > 0;

function settle(
  exchange: Exchange,
  company: CompanyRow,
  followed: boolean,
  change: () => { changes: number },
): Reply {
  const changed = exchange.services.state.transaction(() => {
    const happened = change().changes > 0;
    if (happened) {
      recordActivity(exchange, {
        action: followed ? 'companies.follow' : 'companies.unfollow',
        resourceType: 'Company',
        resourceId: company.company_id,
        resourceLabel: company.company_name,
        before: { followed: !followed },
        after: { followed },
      });
    }
    return happened;
  })();
  return ok({ data: { id: company.company_id, type: 'follow_state', attributes: { followed, changed } } });
}
