import { defined } from '../../../src/domain/defined.js';
import * as attribution from '../../../src/platform/contract/attribution.js';
import {
  createIntent,
  getIntent,
  listIntents,
  previewIntent,
} from '../../../src/platform/contract/intents.js';
import * as invites from '../../../src/platform/contract/invite-links.js';
import type { Operation } from '../../../src/platform/contract/operation.js';
import * as referrals from '../../../src/platform/contract/referrals.js';
import { selfServeScopes } from '../../../src/platform/contract/scopes.js';
import * as sessions from '../../../src/platform/contract/sessions.js';
import { expandScopes } from '../../../src/platform/http/scopes.js';
import { insertInstallation, mintFor } from '../../../src/platform/installations/install.js';
import { one } from '../../../src/platform/state/statements.js';
import { makeClient, type TestClient, userToken } from '../credentials.js';
import { narrowToken, tokenOn } from '../installs.js';
import { company, type RunningPlatform } from '../running-platform.js';
import { credentialKinds, type Cells as Kinds } from './credential-kinds.js';
import { type Cell, defineTable } from './table.js';

/**
 * Includes another application on the same company with every scope: records of one application are not visible to
 * another.
 */
const callers = [...credentialKinds, 'otherApplication'] as const;
type Caller = (typeof callers)[number];
type Cells = Kinds & { readonly otherApplication: Cell };

const unauthorized = '401 unauthorized';
const lacking = '403 insufficient_scope';
const forbidden = '403 forbidden';
const missing = '404 not_found';
const invalid = '422 validation_error';
const unscoped = {
  none: unauthorized,
  garbage: unauthorized,
  publishable: lacking,
  application: lacking,
  unscoped: lacking,
} as const;

/**
 * On an offering of the company: its managers get `answer`, a stranger gets not found, and a token bound elsewhere
 * is refused.
 */
const onOffering = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  owner: answer,
  stranger: missing,
  company: answer,
  otherCompany: forbidden,
  // The syndicate that brings its members to the round manages it as well.
  syndicate: answer,
  otherSyndicate: forbidden,
  otherApplication: answer,
});

/** Data of the caller's own account, so there is no stranger. */
const ofAccount = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  owner: answer,
  stranger: answer,
  company: answer,
  otherCompany: answer,
  syndicate: answer,
  otherSyndicate: answer,
  otherApplication: answer,
});

const credentials = '403 app_credentials_required';
const ofApplication = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  application: answer,
  owner: credentials,
  stranger: credentials,
  unscoped: credentials,
  company: credentials,
  otherCompany: credentials,
  syndicate: credentials,
  otherSyndicate: credentials,
  otherApplication: credentials,
});

/** About the person of the token. */
const ofPerson = (answer: Cells['owner']): Cells => ({
  ...ofAccount(answer),
  company: forbidden,
  otherCompany: forbidden,
  syndicate: forbidden,
  otherSyndicate: forbidden,
  otherApplication: forbidden,
});

/**
 * Records that the application made on that offering, visible to callers that act there through it. Its tokens
 * bound elsewhere are refused; every other caller, including another application on the same company, gets not
 * found.
 */
const ofMaker = (answer: Cells['owner']): Cells => ({
  ...ofAccount(missing),
  owner: answer,
  company: answer,
  otherCompany: forbidden,
  syndicate: answer,
  otherSyndicate: forbidden,
});
/** Visible to one account only. */
const ofProposer = (answer: Cells['owner']): Cells => ({ ...ofAccount(missing), syndicate: answer });

/** The kind of record whose id fills the last path parameter; absent if the path has none. */
type Thing =
  | 'session'
  | 'intent'
  | 'personIntent'
  | 'invite'
  | 'foreignInvite'
  | 'code'
  | 'foreignCode'
  | 'partnerInvite';

interface SessionRow {
  readonly operation: Operation;
  readonly thing?: Thing;
  readonly body?: unknown;
  readonly cells: Cells;
}

/** A link of another application on the same offering: only that application sees it. */
const ofOtherMaker: Cells = { ...onOffering(missing), otherApplication: 200 };
const newAllocation = { invite_link: { allocation_cents: 90_000 } };

/** Bodies are empty by default: a request that passes every check gets the validation error. */
const rows: readonly SessionRow[] = [
  { operation: sessions.listOfferingSessions, cells: onOffering(200) },
  { operation: sessions.createSession, cells: onOffering(invalid) },
  { operation: sessions.listSessions, cells: ofAccount(200) },
  { operation: sessions.getSession, cells: ofAccount(missing) },
  { operation: sessions.cancelSession, cells: ofAccount(missing) },
  { operation: sessions.getSession, thing: 'session', cells: ofMaker(200) },
  { operation: sessions.cancelSession, thing: 'session', cells: ofMaker(200) },
  { operation: createIntent, cells: ofAccount(invalid) },
  { operation: previewIntent, cells: ofAccount(invalid) },
  { operation: listIntents, cells: ofAccount(200) },
  { operation: getIntent, cells: ofAccount(missing) },
  { operation: getIntent, thing: 'intent', cells: ofProposer(200) },
  { operation: getIntent, thing: 'personIntent', cells: { ...ofAccount(missing), owner: 200 } },
  { operation: invites.listInviteLinks, cells: onOffering(200) },
  { operation: invites.createInviteLink, cells: onOffering(invalid) },
  { operation: invites.bulkInviteLinks, cells: onOffering(invalid) },
  { operation: invites.getInviteLink, cells: onOffering(missing) },
  { operation: invites.updateInviteLink, cells: onOffering(invalid) },
  { operation: invites.cancelInviteLink, cells: onOffering(missing) },
  { operation: invites.resendInviteLink, cells: onOffering(missing) },
  {
    operation: invites.getInviteLink,
    thing: 'invite',
    cells: { ...onOffering(200), otherApplication: missing },
  },
  {
    operation: invites.updateInviteLink,
    thing: 'invite',
    cells: { ...onOffering(invalid), otherApplication: invalid },
  },
  {
    operation: invites.cancelInviteLink,
    thing: 'invite',
    cells: { ...onOffering(200), otherApplication: missing },
  },
  {
    operation: invites.resendInviteLink,
    thing: 'invite',
    cells: { ...onOffering(200), otherApplication: missing },
  },
  {
    operation: invites.updateInviteLink,
    thing: 'invite',
    body: newAllocation,
    cells: { ...onOffering(200), otherApplication: missing },
  },
  { operation: invites.getInviteLink, thing: 'foreignInvite', cells: ofOtherMaker },
  { operation: invites.updateInviteLink, thing: 'foreignInvite', body: newAllocation, cells: ofOtherMaker },
  { operation: invites.cancelInviteLink, thing: 'foreignInvite', cells: ofOtherMaker },
  { operation: invites.resendInviteLink, thing: 'foreignInvite', cells: ofOtherMaker },
  { operation: referrals.createReferralCode, cells: ofApplication(201) },
  { operation: referrals.listReferralCodes, cells: ofApplication(200) },
  { operation: referrals.getReferralCode, cells: ofApplication(missing) },
  { operation: referrals.disableReferralCode, cells: ofApplication(missing) },
  { operation: referrals.getReferralCode, thing: 'code', cells: ofApplication(200) },
  { operation: referrals.disableReferralCode, thing: 'code', cells: ofApplication(200) },
  { operation: referrals.getReferralCode, thing: 'foreignCode', cells: ofApplication(missing) },
  { operation: referrals.disableReferralCode, thing: 'foreignCode', cells: ofApplication(missing) },
  { operation: attribution.attributionStats, cells: onOffering(200) },
  { operation: attribution.attributionInvestments, cells: onOffering(200) },
  { operation: attribution.attributionMe, cells: ofPerson(200) },
  { operation: attribution.attributionCampaigns, cells: ofAccount(200) },
  { operation: attribution.registerPartner, cells: ofPerson(invalid) },
  { operation: attribution.listAttributionInvites, cells: ofPerson(200) },
  { operation: attribution.createAttributionInvite, cells: ofPerson(invalid) },
  { operation: attribution.revokeAttributionInvite, cells: ofPerson(missing) },
  {
    operation: attribution.revokeAttributionInvite,
    thing: 'partnerInvite',
    cells: { ...ofPerson(missing), owner: 204 },
  },
];

interface Stage {
  readonly world: RunningPlatform;
  /** The sandbox's application is installed everywhere, and people act through it as well. */
  readonly app: TestClient;
  readonly application: string;
  readonly other: TestClient;
  readonly otherSeat: number;
  readonly things: Readonly<Record<Thing, string>>;
}

const program = ['read:attribution:full', 'write:attribution'];

function credential({ world, app, ...held }: Stage, kind: Caller, operation: Operation): string | null {
  const asked = operation.scopes ?? [];
  const attribution = asked.some((scope) => scope.includes('attribution'));
  const installed = (installation = '') =>
    narrowToken(world, installation, attribution ? program : selfServeScopes);
  const others = selfServeScopes.filter((scope) => !asked.some((one) => expandScopes([scope]).has(one)));
  switch (kind) {
    case 'none':
      return null;
    case 'garbage':
      return 'at_test_nothing';
    case 'publishable':
      return app.clientId;
    case 'application':
      return held.application;
    case 'owner':
      return userToken(world, app, 'founder1@people.example', attribution ? program : asked);
    case 'stranger':
      return userToken(world, app, 'ida@people.example', attribution ? program : asked);
    case 'unscoped':
      return userToken(world, app, 'founder1@people.example', others);
    case 'company':
      return installed(company(world).installation);
    case 'otherCompany':
      return installed(company(world, 1).installation);
    case 'syndicate':
      return installed(world.ready.syndicates[0]?.installation);
    case 'otherSyndicate':
      return installed(world.ready.syndicates[1]?.installation);
    case 'otherApplication':
      return tokenOn(world, held.other, held.otherSeat, attribution ? program : selfServeScopes);
  }
}

async function stageOf(world: RunningPlatform): Promise<Stage> {
  const { services, ready } = world;
  const other = makeClient(world, { scopes: [...selfServeScopes] });
  const [first] = ready.apps;
  const app = {
    ...other,
    applicationNo: 1,
    clientId: first?.clientId ?? '',
    secret: first?.clientSecret ?? '',
  };
  const ofClient = async ({ clientId, secret }: TestClient): Promise<string> => {
    const scope = 'write:referral_codes';
    const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret, scope };
    return (await world.post('/oauth/token', { body: new URLSearchParams(grant) })).body.access_token;
  };
  const place = one<{ no: number }>(services.state, 'SELECT no FROM companies WHERE id = ?', [
    company(world).id,
  ]);
  const now = services.clock.now();
  const seat = insertInstallation(
    services,
    {
      applicationNo: other.applicationNo,
      realm: 'test',
      target: { type: 'company', no: place?.no ?? 0 },
      tier: 'founder',
      scopes: selfServeScopes,
      userNo: 1,
    },
    now,
  );
  const otherApplication = mintFor(services, seat, selfServeScopes, now).token;
  const application = await ofClient(app);
  const foreign = await ofClient(other);
  const made = async (path: string, token: string, body: unknown): Promise<string> => {
    const answer = await world.post(path, { token, body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.data.id ?? answer.body.data.token;
  };
  const syndicate = ready.syndicates[0];
  const members = await world.get(`/syndicates/${syndicate?.id}/members?role=member`, {
    token: syndicate?.token ?? '',
  });
  const round = `/offerings/${company(world).offerings[1]}`;
  const partner = userToken(world, app, 'founder1@people.example', program);
  return {
    world,
    app,
    application,
    other,
    otherSeat: seat.no,
    things: {
      session: await made(`${round}/investment_sessions`, company(world).token, {
        investment_session: { email: 'ida@people.example' },
      }),
      intent: await made('/intents', syndicate?.token ?? '', {
        action: 'syndicates.remove_member',
        resource_id: syndicate?.id,
        params: { member_id: members.body.data.at(-1)?.id },
        idempotency_key: 'matrix',
      }),
      personIntent: await made(
        '/intents',
        userToken(world, app, 'founder1@people.example', ['write:comments']),
        {
          action: 'comments.create',
          resource_id: company(world).id,
          params: { target_type: 'company', target: company(world).id, body: 'Since when?' },
          idempotency_key: 'matrix-person',
        },
      ),
      invite: await made(`${round}/invite_links`, company(world).token, {
        invite_link: { email: 'ivan@people.example' },
      }),
      foreignInvite: await made(`${round}/invite_links`, otherApplication, {
        invite_link: { email: 'iris@people.example' },
      }),
      code: await made('/referral_codes', application, {}),
      foreignCode: await made('/referral_codes', foreign, {}),
      partnerInvite: await made('/attribution/invites', partner, {
        direction: 'founder_to_partner',
        company_id: company(world).id,
        partner_email: 'partner@mail.example',
        access_level: 1,
      }),
    },
  };
}

const thingWords: Readonly<Record<Thing, string>> = {
  session: 'of an existing session',
  intent: 'of an existing intent',
  personIntent: 'of an intent of a person',
  invite: 'of an existing link',
  foreignInvite: 'of a link of another application',
  code: 'of the caller’s own code',
  foreignCode: 'of a code of another application',
  partnerInvite: 'of an existing invite',
};

/** Sessions, intents, invite links, referral codes and attribution. */
export const sessionsTable = defineTable<Caller, Stage>({
  name: 'SEC-14 sessions, intents, links, codes and attribution',
  callers,
  stage: stageOf,
  credential,
  rows: rows.map(({ operation, thing, body, cells }) => ({
    operation: operation.id,
    ...(thing === undefined
      ? {}
      : { about: `${thingWords[thing]}${body === undefined ? '' : ', with a body'}` }),
    expected: cells,
    request: ({ world, things }) => ({
      path: operation.path
        .replace(/^\/(offerings|campaigns)\/\{id\}/, `/$1/${company(world).offerings[1]}`)
        .replace(/\{[^}]+\}/g, thing === undefined ? 'nothing' : things[thing]),
      ...defined({ body }),
    }),
  })),
});
