import { defined } from '../../../src/domain/defined.js';
import { run } from '../../../src/platform/state/statements.js';
import { makeCompany } from '../credentials.js';
import { company, type RunningPlatform } from '../running-platform.js';
import {
  applicationToken,
  foundSyndicate,
  makePerson,
  openDeal,
  syndicateKey,
  type TestSyndicate,
} from '../syndicate-life.js';
import { defineTable, type MatrixRow as Row } from './table.js';

/** Every kind of caller, relative to one syndicate. */
const callers = [
  'none',
  'publishable',
  'application',
  'unscoped',
  'readOnly',
  'otherRealm',
  'stranger',
  'elsewhere',
  'companyInstall',
  'applicant',
  'member',
  'operator',
  'fullAccess',
  'creator',
  'installation',
  'key',
] as const;
type MatrixCaller = (typeof callers)[number];

interface Stage {
  readonly world: RunningPlatform;
  readonly syndicate: TestSyndicate;
  readonly tokens: Readonly<Record<MatrixCaller, string | null>>;
}
type MatrixRow = Row<MatrixCaller, Stage>;

/** These callers can never access a syndicate. */
const outside = {
  none: 401,
  publishable: 403,
  application: 403,
  unscoped: 403,
  otherRealm: 404,
  stranger: 403,
  elsewhere: 403,
  companyInstall: 403,
  applicant: 403,
} as const;

const everyMember = (ok: number) =>
  ({
    ...outside,
    readOnly: ok,
    member: ok,
    operator: ok,
    fullAccess: ok,
    creator: ok,
    installation: ok,
    key: ok,
  }) as const;
const team = (ok: number) => ({ ...everyMember(ok), member: 403 }) as const;
/** `readOnly` is the creator with read:syndicates only. */
const teamWrites = (ok: number) => ({ ...team(ok), readOnly: 403 }) as const;
const fullAccessWrites = (ok: number) => ({ ...teamWrites(ok), operator: 403 }) as const;
const creatorWrites = (ok: number) =>
  ({ ...fullAccessWrites(ok), fullAccess: 403, installation: 403, key: 403 }) as const;

const at =
  (path: string, body?: unknown): MatrixRow['request'] =>
  ({ syndicate }) => ({ path: `${syndicate.path}${path}`, ...defined({ body }) });

type As = Parameters<TestSyndicate['add']>[1];

const onMember =
  (as: As, path = '', body?: unknown): MatrixRow['request'] =>
  ({ syndicate }) => ({
    path: `${syndicate.path}/members/${syndicate.add('Target', as).id}${path}`,
    ...defined({ body }),
  });

const onDeal =
  (path = ''): MatrixRow['request'] =>
  ({ world, syndicate }) => ({ path: `${syndicate.path}/deals/${openDeal(world, syndicate).id}${path}` });

let addresses = 0;
const fresh = () => {
  addresses += 1;
  return `matrix${addresses}@people.example`;
};

/** Each caller gets a newly created target. */
const rows: readonly MatrixRow[] = [
  {
    // Not about one syndicate: a caller that manages none, or is bound to another target, gets an empty list.
    operation: 'listSyndicates',
    expected: {
      ...everyMember(200),
      otherRealm: 200,
      stranger: 200,
      elsewhere: 200,
      companyInstall: 200,
      applicant: 200,
    },
    request: () => ({ path: '/syndicates' }),
  },
  { operation: 'getSyndicate', expected: everyMember(200), request: at('') },
  {
    operation: 'updateSyndicate',
    expected: teamWrites(200),
    request: at('', { syndicate: { tagline: 'Together' } }),
  },
  { operation: 'getSyndicateStatistics', expected: team(200), request: at('/statistics') },
  { operation: 'listSyndicateMembers', expected: everyMember(200), request: at('/members') },
  { operation: 'listMemberInvestments', expected: team(200), request: onMember('member', '/investments') },
  {
    operation: 'inviteSyndicateMember',
    expected: teamWrites(201),
    request: ({ syndicate }) => ({ path: `${syndicate.path}/members/invite`, body: { email: fresh() } }),
  },
  {
    operation: 'updateSyndicateMember',
    expected: teamWrites(200),
    request: onMember('member', '', { member: { title: 'Scout' } }),
  },
  { operation: 'removeSyndicateMember', expected: teamWrites(422), request: onMember('member') },
  {
    operation: 'approveSyndicateMember',
    expected: teamWrites(200),
    request: onMember('applicant', '/approve'),
  },
  { operation: 'hideSyndicateMember', expected: teamWrites(200), request: onMember('member', '/hide') },
  { operation: 'restoreSyndicateMember', expected: teamWrites(200), request: onMember('exiled', '/restore') },
  {
    operation: 'promoteSyndicateMember',
    expected: creatorWrites(200),
    request: onMember('member', '/promote'),
  },
  {
    operation: 'demoteSyndicateMember',
    expected: fullAccessWrites(200),
    request: onMember('full_access', '/demote'),
  },
  {
    operation: 'resendSyndicateInvite',
    expected: teamWrites(200),
    request: onMember('invitee', '/resend_invite'),
  },
  {
    operation: 'reorderSyndicateMembers',
    expected: teamWrites(200),
    request: ({ syndicate }) => ({
      path: `${syndicate.path}/members/reorder`,
      body: { member_ids: [syndicate.add('First').id] },
    }),
  },
  { operation: 'exportSyndicateMembers', expected: teamWrites(200), request: at('/members/export_csv') },
  {
    operation: 'createJoinSession',
    expected: teamWrites(201),
    request: ({ syndicate }) => ({
      path: `${syndicate.path}/join_sessions`,
      body: { join_session: { email: fresh() } },
    }),
  },
  { operation: 'listJoinSessions', expected: teamWrites(200), request: at('/join_sessions') },
  { operation: 'listSyndicateDeals', expected: everyMember(200), request: at('/deals') },
  { operation: 'getSyndicateDeal', expected: everyMember(200), request: onDeal() },
  { operation: 'getSyndicateDealReadiness', expected: team(200), request: onDeal('/readiness') },
  { operation: 'listSyndicateDealInvestors', expected: everyMember(200), request: onDeal('/investors') },
  { operation: 'getSyndicateDealStatistics', expected: team(200), request: onDeal('/statistics') },
  {
    // A caller who may prepare deals must name a company they edit, and no caller here edits one.
    operation: 'createSyndicateDeal',
    expected: teamWrites(404),
    request: at('/deals', { deal: { company: 'co_nobody_edits' } }),
  },
  {
    operation: 'createSyndicateDeal',
    about: 'for a company the creator edits',
    expected: { ...teamWrites(404), creator: 201, installation: 201, key: 201 },
    request: ({ world, syndicate }) => {
      const company = makeCompany(world, {});
      run(
        world.services.state,
        `INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, 'founder')`,
        [company.no, syndicate.creator.person.no],
      );
      const deal = { company: company.id, name: 'Matrix Deal', exemption: 'Reg CF', security: 'SAFE' };
      return { path: `${syndicate.path}/deals`, body: { deal } };
    },
  },
  // In the first version.
  ...(['close', 'finalize'] as const).map(
    (action): MatrixRow => ({
      operation: `${action}SyndicateDeal`,
      about: 'in the first version',
      expected: teamWrites(200),
      request: (stage) => ({ ...onDeal(`/${action}`)(stage), headers: { 'service-version': '2026-10-01' } }),
    }),
  ),
  // Removed in the version the application is pinned to, for every caller.
  ...(['close', 'finalize'] as const).map((action) => ({
    operation: `${action}SyndicateDeal`,
    expected: Object.fromEntries(callers.map((caller) => [caller, 404])) as MatrixRow['expected'],
    request: onDeal(`/${action}`),
  })),
];

function stageOf(world: RunningPlatform): Stage {
  const syndicate = foundSyndicate(world);
  const { creator } = syndicate;
  const elsewhere = foundSyndicate(world);
  // The same person in the other realm: people exist in both realms, syndicates in one.
  const live = foundSyndicate(world, 'live');
  return {
    world,
    syndicate,
    tokens: {
      none: null,
      publishable: syndicate.client.clientId,
      application: applicationToken(world, syndicate, ['read:public']),
      unscoped: syndicate.token(creator, ['read:companies', 'read:investments', 'read:profile']),
      readOnly: syndicate.token(creator, ['read:syndicates']),
      otherRealm: live.token(creator),
      stranger: syndicate.token({ person: makePerson(world, 'Stranger') }),
      elsewhere: elsewhere.installationToken,
      companyInstall: company(world).token,
      applicant: syndicate.token(syndicate.add('Apu', 'applicant')),
      member: syndicate.token(syndicate.add('Mia')),
      operator: syndicate.token(syndicate.add('Op', 'operator')),
      fullAccess: syndicate.token(syndicate.add('Max', 'full_access')),
      creator: syndicate.creatorToken,
      installation: syndicate.installationToken,
      key: syndicateKey(world, syndicate),
    },
  };
}

export const syndicatesTable = defineTable<MatrixCaller, Stage>({
  name: 'SEC-14 SYN-01 syndicates, their members, deals and join sessions',
  callers,
  stage: stageOf,
  credential: ({ tokens }, caller) => tokens[caller],
  rows,
});
