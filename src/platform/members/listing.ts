import { memberSorts } from '../contract/members.js';
import { type Asked, type Page, pageSizeOf, readPage } from '../http/paging.js';
import type { State } from '../state/database.js';
import { fold } from '../state/fold.js';
import { all } from '../state/statements.js';
import type { Permission } from '../syndicates/model.js';
import { listedStandings, type Member, type MemberRole, memberSelect } from './model.js';

export type MemberSort = 'default' | (typeof memberSorts)[number];

/** Null means not requested. */
export interface MemberFilters {
  readonly role: MemberRole | null;
  readonly permission: Permission | null;
  readonly search: string | null;
  readonly hasInvested: boolean | null;
  readonly accredited: boolean | null;
  readonly tag: string | null;
  readonly location: string | null;
}

export interface Viewer {
  readonly syndicateNo: number;
  readonly reader: string;
  readonly moderator: boolean;
}

const orders: Readonly<Record<MemberSort, readonly [key: string, direction: 'ASC' | 'DESC']>> = {
  default: ['sort_order', 'ASC'],
  newest: ['created_at', 'DESC'],
  oldest: ['created_at', 'ASC'],
  alphabetical: [`fold(coalesce(name, ''))`, 'ASC'],
  last_activity: ['coalesce(last_login_at, 0)', 'DESC'],
  investment_amount: ['invested_about', 'DESC'],
};

/**
 * Ordinary members see only members, and their search matches names only. Filters never match hidden fields, because a
 * match would reveal their value.
 */
const filtered = `WITH cards AS (${memberSelect} WHERE m.syndicate_no = :syndicate AND m.standing IN ${listedStandings}
    AND (:moderator = 1 OR m.standing = 'member'))
  SELECT * FROM cards WHERE (:role IS NULL OR role = :role) AND (:permission IS NULL OR permission = :permission)
  AND (:search IS NULL OR instr(fold(coalesce(name, '')), fold(:search)) > 0
    OR (:moderator = 1 AND instr(fold(coalesce(email, '')), fold(:search)) > 0))
  AND (:invested IS NULL OR (deal_count > 0) = :invested)
  AND (:accredited IS NULL OR accredited = :accredited)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) t WHERE fold(t.value) = fold(:tag)))
  AND (:location IS NULL OR (coalesce(hide_location, 0) = 0 AND EXISTS (SELECT 1 FROM json_each(location) l
    WHERE l.key IN ('city', 'state', 'country') AND instr(fold(l.value), fold(:location)) > 0)))`;

const pageSql = Object.fromEntries(
  Object.entries(orders).map(([sort, [key, direction]]) => {
    const after = `(:after IS NULL OR (${key}, no) ${direction === 'ASC' ? '>' : '<'} (:after, :no))`;
    return [sort, `${filtered} AND ${after} ORDER BY ${key} ${direction}, no ${direction} LIMIT :limit`];
  }),
) as Readonly<Record<MemberSort, string>>;

/** The sort key of a row, as the database compares it. */
const keyOf: Readonly<Record<MemberSort, (row: Member) => string | number>> = {
  default: (row) => row.sort_order,
  newest: (row) => row.created_at,
  oldest: (row) => row.created_at,
  alphabetical: (row) => fold(row.name ?? ''),
  last_activity: (row) => row.last_login_at ?? 0,
  investment_amount: (row) => row.invested_about,
};

export function listMembers(
  state: State,
  viewer: Viewer,
  filters: MemberFilters,
  sort: MemberSort,
  asked: Asked,
): Page<Member> {
  const bind = parametersOf(viewer, filters);
  const listing = `members:${viewer.reader}:${viewer.moderator}:${viewer.syndicateNo}:${sort}:${JSON.stringify(filters)}`;
  return readPage<Member, readonly [key: string | number, no: number]>(
    state,
    { list: listing, cursor: asked.cursor, size: pageSizeOf(asked.per_page) },
    (after, limit) =>
      all<Member>(state, pageSql[sort], { ...bind, after: after?.[0] ?? null, no: after?.[1] ?? 0, limit }),
    (row) => [keyOf[sort](row), row.no],
  );
}

const number = (value: boolean | null): number | null => (value === null ? null : Number(value));

const parametersOf = (viewer: Viewer, filters: MemberFilters) => ({
  syndicate: viewer.syndicateNo,
  moderator: Number(viewer.moderator),
  role: filters.role,
  permission: filters.permission,
  search: filters.search,
  invested: number(filters.hasInvested),
  accredited: number(filters.accredited),
  tag: filters.tag,
  location: filters.location,
});

/** Returns every member that a moderator may see, in the order of the syndicate. */
export const everyMember = (state: State, syndicateNo: number): Member[] =>
  all<Member>(
    state,
    `${memberSelect} WHERE m.syndicate_no = ? AND m.standing IN ${listedStandings} ORDER BY m.sort_order, m.no`,
    [syndicateNo],
  );

export function rolesIn(state: State, syndicateNo: number): Readonly<Record<string, number>> {
  const rows = all<{ role: string; count: number }>(
    state,
    `SELECT role, count(*) AS count FROM (${memberSelect} WHERE m.syndicate_no = ?
       AND m.standing IN ${listedStandings}) GROUP BY role ORDER BY role`,
    [syndicateNo],
  );
  return Object.fromEntries(rows.map(({ role, count }) => [role, count]));
}

/** Returns the sort. Unknown sorts, and those reserved for moderators, become the default order. */
export function sortOf(text: string | undefined, moderator: boolean): MemberSort {
  const known = memberSorts.find((sort) => sort === text);
  return known === undefined || (known === 'investment_amount' && !moderator) ? 'default' : known;
}
