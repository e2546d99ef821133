import type { Random } from '../../../runtime/random.js';
import type { State } from '../../state/database.js';
import { newId } from '../../state/secrets.js';
import { all, one, run } from '../../state/statements.js';
import { between, chance, pick } from './picks.js';

const interests = ['Climate', 'Consumer', 'Hardware', 'Health', 'Robotics', 'Software'];
const stages = ['Pre-seed', 'Seed', 'Series A'];
const wishes = ['Co-investors', 'Deal flow', 'Mentorship'];
const tags = ['Founder', 'Éxito', 'Operator', 'Angel', 'Local'];
const privateTags = ['call back', 'large cheque'];
const titles = ['Scout', 'Adviser', 'Analyst'];

const day = 86_400_000;
/** Enough for three pages. Large worlds do not need large syndicates. */
const membersMax = 60;

interface SeedContext {
  readonly state: State;
  readonly random: Random;
  readonly now: number;
}

interface SyndicateRow {
  readonly no: number;
  readonly created_by_no: number;
}

/**
 * Seeds the syndicates: members who invested in a deal of the syndicate, an operator, an invitee, an applicant, an exiled
 * and a resigned member. It uses a separate random stream and creates no users or investments, so the rest of the world
 * does not depend on it.
 */
export function seedMemberships(state: State, random: Random, now: number): void {
  const context: SeedContext = { state, random, now };
  const syndicates = all<SyndicateRow>(state, 'SELECT no, created_by_no FROM syndicates ORDER BY no');
  for (const [index, syndicate] of syndicates.entries()) {
    seedMembers(context, syndicate, index, secondRound(state, index));
  }
}

/** Seeds one syndicate. Its deal is a round whose investors become members. */
export function seedMembers(
  context: SeedContext,
  syndicate: SyndicateRow,
  index: number,
  deal: number | undefined,
): void {
  const { state, random } = context;
  describe(context, syndicate, index);
  if (deal !== undefined) seedDeal(context, syndicate, index, deal);
  const crowd = deal === undefined ? [] : investorsIn(state, deal, syndicate.created_by_no);
  insert(context, syndicate, { user: syndicate.created_by_no, standing: 'member', title: 'Lead' });
  const helper = crowd.findLast((user) => isInvented(state, user));
  for (const user of crowd) {
    seedProfile(context, user);
    const titled = chance(random, 0.2) ? pick(random, titles) : null;
    insert(context, syndicate, { user, standing: 'member', title: titled });
    if (user === helper) helpRun(state, syndicate, user);
  }
  seedOthers(context, syndicate, index, new Set([syndicate.created_by_no, ...crowd]));
}

/** One syndicate of each type, with its columns in the order of the statement below; the third is in the live realm. */
const dealByDeal = [null, 0, 0, 0, 0, 0] as const;
const termsOf = [
  dealByDeal,
  ['annual_subscription', 1_000_000, 10, 100_000, 0, 0],
  ['traditional_fund', 0, 0, 0, 1, 1_000_000],
] as const;

function describe({ state, now }: SeedContext, syndicate: SyndicateRow, index: number): void {
  run(
    state,
    `UPDATE syndicates SET tagline = ?, description = ?, published = 1, launched = 1, membership_open = 1,
       syndicate_type = ?, fund_investment_cents = ?, deals_per_year = ?, deal_cents = ?,
       require_minimum_investment = ?, minimum_investment_cents = ?, updated_at = ? WHERE no = ?`,
    [
      'People who do not exist, investing together.',
      'A syndicate of the sandbox. Nothing here is money.',
      ...(termsOf[index] ?? dealByDeal),
      now,
      syndicate.no,
    ],
  );
}

/** Returns the round without shares of the company with this index. */
const secondRound = (state: State, index: number): number | undefined =>
  one<{ no: number }>(
    state,
    `SELECT no FROM offerings WHERE company_no = (SELECT no FROM companies ORDER BY no LIMIT 1 OFFSET ?)
     ORDER BY no LIMIT 1 OFFSET 1`,
    [index],
  )?.no;

function seedDeal({ state, now }: SeedContext, syndicate: SyndicateRow, index: number, deal: number): void {
  run(state, 'UPDATE offerings SET syndicate_no = ? WHERE no = ?', [syndicate.no, deal]);
  run(
    state,
    `INSERT INTO deal_terms (offering_no, name, description, max_investment_cents, updated_at)
     VALUES (?, ?, ?, ?, ?)`,
    [deal, `Sandbox Deal ${index + 1}`, 'One entry on the cap table.', 10_000_000, now],
  );
}

const investorsIn = (state: State, offering: number, except: number): readonly number[] =>
  all<{ no: number }>(
    state,
    `SELECT DISTINCT investor_no AS no FROM syndicate_investments WHERE offering_no = ? AND investor_no <> ?
     ORDER BY investor_no LIMIT ?`,
    [offering, except, membersMax],
  ).map((row) => row.no);

/** Returns whether a user is an invented investor. Users in the ready document must not get syndicate permissions. */
function isInvented(state: State, user: number): boolean {
  return one(state, "SELECT 1 FROM users WHERE no = ? AND email LIKE 'investor%'", [user]) !== undefined;
}

function helpRun(state: State, syndicate: SyndicateRow, user: number): void {
  run(state, `INSERT INTO syndicate_managers (syndicate_no, user_no, permission) VALUES (?, ?, 'operator')`, [
    syndicate.no,
    user,
  ]);
}

/** Seeds one row of each non-member standing, with users who invested elsewhere. */
function seedOthers(
  context: SeedContext,
  syndicate: SyndicateRow,
  index: number,
  taken: ReadonlySet<number>,
): void {
  const spare = all<{ no: number }>(
    context.state,
    `SELECT no FROM users WHERE email LIKE 'investor%' ORDER BY no DESC LIMIT ?`,
    [membersMax + 10],
  ).filter(({ no }) => !taken.has(no));
  for (const [place, standing] of (['applicant', 'exiled', 'resigned'] as const).entries()) {
    const user = spare[place]?.no;
    if (user !== undefined) insert(context, syndicate, { user, standing, title: null });
  }
  insert(context, syndicate, {
    user: null,
    standing: 'invitee',
    title: null,
    email: `newcomer${index + 1}@people.example`,
  });
}

interface Sprout {
  readonly user: number | null;
  readonly standing: 'member' | 'applicant' | 'exiled' | 'resigned' | 'invitee';
  readonly title: string | null;
  readonly email?: string;
}

function insert({ state, random, now }: SeedContext, syndicate: SyndicateRow, sprout: Sprout): void {
  const invited = sprout.standing === 'invitee';
  const joined = now - between(random, 1, 700) * day;
  run(
    state,
    `INSERT INTO syndicate_members (id, syndicate_no, user_no, standing, invited_email, invited_name,
       invited_permission, invite_token, consented, title, sort_order, tags, private_tags, starred, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
       1 + coalesce((SELECT max(sort_order) FROM syndicate_members WHERE syndicate_no = ?), 0), ?, ?, ?, ?, ?)`,
    [
      newId(random, 'mem_'),
      syndicate.no,
      sprout.user,
      sprout.standing,
      sprout.email ?? null,
      invited ? 'Nell Newcomer' : null,
      invited ? 'operator' : null,
      invited ? newId(random, 'iv_') : null,
      invited ? 0 : 1,
      sprout.title,
      syndicate.no,
      JSON.stringify(chance(random, 0.4) ? [pick(random, tags)] : []),
      JSON.stringify(chance(random, 0.1) ? [pick(random, privateTags)] : []),
      chance(random, 0.1) ? 1 : 0,
      joined,
      joined,
    ],
  );
}

/** A user has one member profile for all syndicates. */
function seedProfile({ state, random, now }: SeedContext, user: number): void {
  run(
    state,
    `INSERT OR IGNORE INTO member_profiles (user_no, linkedin_url, website, hide_location, interests, stage_preferences,
       looking_for, last_login_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      user,
      chance(random, 0.5) ? `https://social.example/in/${user}` : null,
      chance(random, 0.2) ? `https://people.example/~${user}` : null,
      chance(random, 0.2) ? 1 : 0,
      JSON.stringify([pick(random, interests)]),
      JSON.stringify([pick(random, stages)]),
      JSON.stringify([pick(random, wishes)]),
      now - between(random, 0, 90) * day,
    ],
  );
}
