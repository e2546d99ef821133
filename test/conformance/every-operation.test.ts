import { afterAll, beforeAll, expect, test } from 'vitest';
import { defined } from '../../src/domain/defined.js';
import type { Operation } from '../../src/platform/contract/operation.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import { declaredOperations } from '../tools/api-description.js';
import { challenge, form, location, Visitor, verifier } from './credentials.js';
import { type Answered, type RunningPlatform, type Sending, startPlatform } from './running-platform.js';

type Realm = 'test' | 'live';

/** Operations of one realm only, and the one that never succeeds. */
const outside: Readonly<Record<Realm, readonly string[]>> = {
  // Endpoints are managed on the live API. The live pages of the authorization server serve live keys.
  test: [
    'createWebhookEndpoint',
    'updateWebhookEndpoint',
    'deleteWebhookEndpoint',
    'rotateWebhookSecret',
    'authorize',
    'answerAuthorize',
    'discover',
  ],
  live: ['sandboxAuthorize', 'answerSandboxAuthorize', 'discoverSandbox'],
};
/** A removal needs the approval of a person, so the operation always refers to intents. */
const neverSucceeds = 'removeSyndicateMember';

const operations = declaredOperations();

/** A world that records which operations were answered without an error, whoever sent the request. */
class Recorder {
  readonly reached = new Set<string>();
  readonly world: RunningPlatform;
  readonly #paths: readonly (readonly [RegExp, Operation])[];

  constructor(world: RunningPlatform) {
    this.#paths = [...operations]
      .sort((a, b) => a.path.split('{').length - b.path.split('{').length)
      .map((one) => [
        new RegExp(`^${one.path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
        one,
      ]);
    const send = async (method: string, path: string, sending?: Sending): Promise<Answered> => {
      const answer = await world.send(method, path, sending);
      if (answer.status < 400) this.#record(method, path);
      return answer;
    };
    const with_ = (method: string) => (path: string, sending?: Sending) => send(method, path, sending);
    this.world = {
      ...world,
      send,
      get: with_('GET'),
      post: with_('POST'),
      put: with_('PUT'),
      patch: with_('PATCH'),
      delete: with_('DELETE'),
    };
  }

  #record(method: string, path: string): void {
    const { pathname } = new URL(path, 'http://any.invalid');
    const found = this.#paths.find(([shape, one]) => one.method === method && shape.test(pathname));
    if (found !== undefined) this.reached.add(found[1].id);
  }
}

let world: RunningPlatform;
let receiver: Receiver;
beforeAll(async () => {
  world = await startPlatform({ limits: false, records: 24 });
  receiver = await startReceiver();
});
afterAll(async () => {
  await world.close();
  await receiver.close();
});

/** The part of the ready document that belongs to one realm. Nothing else is known to the walk. */
function sceneOf({ ready }: RunningPlatform, realm: Realm) {
  const [app] = ready.apps;
  const companies = realm === 'test' ? ready.companies : ready.live.companies;
  const [home, second] = companies;
  const [syndicate] = realm === 'test' ? ready.syndicates : ready.live.syndicates;
  if (app === undefined || home === undefined || second === undefined || syndicate === undefined)
    throw new Error('the ready document lacks a company, a syndicate or an application');
  const tokenOf = (user: { token: string; liveToken: string } | undefined): string =>
    (realm === 'test' ? user?.token : user?.liveToken) ?? '';
  const person = (email: string) => tokenOf(ready.users.find((user) => user.email === email));
  const founderOf = (company: { founder: string }) =>
    tokenOf(ready.users.find(({ id }) => id === company.founder));
  return {
    app,
    keys: realm === 'test' ? app : app.live,
    home,
    second,
    syndicate,
    owner: person('owner@people.example'),
    // Each realm has its own investor, because a person becomes an attribution partner once.
    investor: realm === 'test' ? 'ida@people.example' : 'ivan@people.example',
    investorToken: person(realm === 'test' ? 'ida@people.example' : 'ivan@people.example'),
    founder: founderOf(home),
    secondFounder: founderOf(second),
    attribution: {
      token: realm === 'test' ? ready.attribution.token : ready.attribution.liveToken,
      partner: tokenOf(ready.attribution.users[1]),
      applicant: tokenOf(ready.attribution.users[realm === 'test' ? 2 : 3]),
    },
    round: home.offerings[1] ?? '',
  };
}
type Scene = ReturnType<typeof sceneOf>;

class Walk {
  constructor(
    readonly world: RunningPlatform,
    readonly realm: Realm,
    readonly scene: Scene,
  ) {}

  // biome-ignore lint/suspicious/noExplicitAny: the body of an answer, looked into by the walk
  async ask(method: string, path: string, token: string, body?: unknown, headers = {}): Promise<any> {
    const sending = { ...(token === '' ? {} : { token }), headers, ...defined({ body }) };
    const answer = await this.world.send(method, path, sending);
    if (answer.status >= 300) {
      throw new Error(`${this.realm} ${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }

  async catalog(): Promise<void> {
    const { home, keys } = this.scene;
    const read = (path: string) => this.ask('GET', path, keys.clientId);
    await read('/explore');
    await read(`/offerings/${home.offering}`);
    await read(`/companies/search?q=${home.name.split(' ')[0]}`);
    for (const tab of ['', '/disclosures', '/pitch', '/questions']) await read(`/companies/${home.id}${tab}`);
    const updates = await read(`/companies/${home.id}/updates`);
    await read(`/companies/${home.id}/updates/${updates.data[0].id}`);
  }

  async investments(): Promise<void> {
    const { home } = this.scene;
    const [record] = (await this.ask('GET', '/investments', home.token)).data;
    await this.ask('GET', `/investments/${record.id}`, home.token);
    await this.ask('GET', `/offerings/${home.offering}/stats`, home.token);
    await this.ask('GET', `/companies/${home.id}/investments/changes`, home.token);
  }

  async people(): Promise<void> {
    const { home, founder, investorToken, syndicate } = this.scene;
    await this.ask('GET', '/users/me', investorToken);
    await this.ask('GET', '/users/me/companies', founder);
    for (const method of ['PUT', 'DELETE'])
      await this.ask(method, `/users/me/follows/${home.id}`, investorToken);
    await this.ask('GET', '/users/me/follows', investorToken);
    await this.ask('GET', '/campaigns', founder);
    await this.ask('GET', '/activity', investorToken, undefined, { 'service-version': '2026-10-01' });
    for (const [base, token] of [
      ['', investorToken],
      [`/syndicates/${syndicate.id}`, syndicate.token],
    ] as const) {
      await this.ask('GET', `${base}/portfolio`, token);
      await this.ask('GET', `${base}/portfolio/positions`, token);
    }
  }

  async oauth(): Promise<void> {
    const { app, keys, investor } = this.scene;
    const prefix = this.realm === 'test' ? '/sandbox' : '';
    const query = form({
      response_type: 'code',
      client_id: keys.clientId,
      redirect_uri: app.redirectUri,
      scope: 'read:profile',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    const path = `${prefix}/oauth/authorize?${query}`;
    const visitor = new Visitor(this.world);
    await visitor.signIn(path, investor);
    const to = location(await visitor.answer(path, { action: 'approve' }));
    const credentials = { client_id: keys.clientId, client_secret: keys.clientSecret };
    const tokens = await this.ask(
      'POST',
      '/oauth/token',
      '',
      form({
        grant_type: 'authorization_code',
        code: to.searchParams.get('code') ?? '',
        redirect_uri: app.redirectUri,
        code_verifier: verifier,
        ...credentials,
      }),
    );
    await this.ask('POST', '/oauth/revoke', '', form({ token: tokens.refresh_token, ...credentials }));
    const discovery = '/.well-known/oauth-authorization-server';
    await this.ask('GET', this.realm === 'test' ? `${discovery}/sandbox` : discovery, '');
  }

  async syndicate(): Promise<void> {
    const { syndicate, founder, home } = this.scene;
    const base = `/syndicates/${syndicate.id}`;
    const { token } = syndicate;
    await this.ask('GET', '/syndicates', token);
    await this.ask('GET', base, token);
    await this.ask('PATCH', base, token, { syndicate: { tagline: 'Walked through.' } });
    await this.ask('GET', `${base}/statistics`, token);
    const members = async (role: string) =>
      (await this.ask('GET', `${base}/members?role=${role}&per_page=100`, token)).data as { id: string }[];
    const [member] = await members('member');
    const [applicant] = await members('applicant');
    const on = (id: string | undefined, action: string) => `${base}/members/${id}${action}`;
    await this.ask('GET', on(member?.id, '/investments'), token);
    await this.ask('PATCH', on(member?.id, ''), token, { member: { title: 'Guide' } });
    await this.ask('POST', on(applicant?.id, '/approve'), token);
    await this.ask('POST', on(applicant?.id, '/promote'), founder);
    await this.ask('POST', on(applicant?.id, '/demote'), founder);
    for (const action of ['/hide', '/restore']) await this.ask('POST', on(member?.id, action), founder);
    const invited = await this.ask('POST', `${base}/members/invite`, token, {
      email: `walk.${this.realm}@mail.example`,
    });
    await this.ask('POST', on(invited.data.id, '/resend_invite'), token);
    await this.ask('POST', `${base}/members/reorder`, token, { member_ids: [applicant?.id] });
    await this.ask('POST', `${base}/members/export_csv`, token);
    const session = await this.ask('POST', `${base}/join_sessions`, token, {
      join_session: { email: 'owner@people.example' },
    });
    await this.ask('GET', `${base}/join_sessions`, token);
    await new Visitor(this.world).signIn(
      new URL(session.data.attributes.url).pathname,
      'owner@people.example',
    );
    const [deal] = (await this.ask('GET', `${base}/deals`, token)).data;
    for (const tab of ['', '/readiness', '/investors', '/statistics'])
      await this.ask('GET', `${base}/deals/${deal.id}${tab}`, token);
    await this.ask('POST', `${base}/deals`, founder, {
      deal: { company: home.id, name: 'Walk', exemption: 'Reg CF', security: 'SAFE' },
    });
    for (const action of ['/close', '/finalize'])
      await this.ask('POST', `${base}/deals/${deal.id}${action}`, token, undefined, {
        'service-version': '2026-10-01',
      });
  }

  async intents(): Promise<void> {
    const { home, investor, investorToken } = this.scene;
    const proposal = {
      action: 'comments.create',
      resource_id: home.id,
      params: { target_type: 'company', target: home.id, body: 'Who walks here?' },
    };
    await this.ask('POST', '/intents/preview', investorToken, proposal);
    const made = await this.ask('POST', '/intents', investorToken, { ...proposal, idempotency_key: 'walk' });
    await this.ask('GET', '/intents', investorToken);
    await this.ask('GET', `/intents/${made.data.id}`, investorToken);
    const review = new URL(made.data.attributes.review_url).pathname;
    const visitor = new Visitor(this.world);
    await visitor.signIn(review, investor);
    await visitor.answer(review, { action: 'approve' });
    const after = await this.ask('GET', `/intents/${made.data.id}`, investorToken);
    expect(after.data.attributes.status).toBe('executed');
  }

  async referrals(): Promise<void> {
    const { keys, round, investor } = this.scene;
    const credentials = { client_id: keys.clientId, client_secret: keys.clientSecret };
    const grant = form({ grant_type: 'client_credentials', scope: 'write:referral_codes', ...credentials });
    const { access_token: token } = await this.ask('POST', '/oauth/token', '', grant);
    const { id } = (await this.ask('POST', '/referral_codes', token, { offering_id: round })).data;
    await this.ask('GET', '/referral_codes', token);
    await this.ask('GET', `/referral_codes/${id}`, token);
    await new Visitor(this.world).signIn(`/invest/${round}?wfr=${id}`, investor);
    await this.ask('DELETE', `/referral_codes/${id}`, token);
  }

  async links(): Promise<void> {
    const { home, round } = this.scene;
    const base = `/offerings/${round}/invite_links`;
    const invite_link = { email: `guest.${this.realm}@mail.example` };
    const made = await this.ask('POST', base, home.token, { invite_link });
    await this.ask('POST', `${base}/bulk`, home.token, { invite_links: [{ email: 'other@mail.example' }] });
    await this.ask('GET', base, home.token);
    const { id, attributes } = made.data;
    await this.ask('GET', `${base}/${id}`, home.token);
    await this.ask('PATCH', `${base}/${id}`, home.token, { invite_link: { allocation_cents: 50_000 } });
    await this.ask('POST', `${base}/${id}/resend`, home.token);
    await new Visitor(this.world).signIn(new URL(attributes.url).pathname, invite_link.email);
    await this.ask('DELETE', `${base}/${id}`, home.token);
  }

  async sessions(): Promise<void> {
    const { home, round, investor } = this.scene;
    const base = `/offerings/${round}/investment_sessions`;
    const made = await this.ask('POST', base, home.token, { investment_session: { email: investor } });
    await this.ask('GET', base, home.token);
    await this.ask('GET', '/investment_sessions', home.token);
    const { id, attributes } = made.data;
    await new Visitor(this.world).signIn(new URL(attributes.url).pathname, investor);
    await this.ask('GET', `/investment_sessions/${id}`, home.token);
    await this.ask('DELETE', `/investment_sessions/${id}`, home.token);
  }

  async attribution(): Promise<void> {
    const { attribution, home } = this.scene;
    for (const what of ['stats', 'investments'])
      await this.ask('GET', `/campaigns/${home.offering}/attribution/${what}`, attribution.token);
    await this.ask('GET', '/attribution/campaigns', attribution.token);
    await this.ask('GET', '/attribution/me', attribution.partner);
    await this.ask('POST', '/attribution/partners/register', attribution.applicant, {
      company_name: 'Walkers',
      website: 'https://walkers.example',
    });
    const invite = { direction: 'partner_to_founder', company_id: home.id, access_level: 1 };
    const { token } = (await this.ask('POST', '/attribution/invites', attribution.partner, invite)).data;
    await this.ask('GET', '/attribution/invites', attribution.partner);
    await this.ask('DELETE', `/attribution/invites/${token}`, attribution.partner);
  }

  async webhooks(): Promise<void> {
    const { owner } = this.scene;
    const wish = { url: receiver.url, events: ['investment.changed'] };
    const base = '/webhook_endpoints';
    // The sandbox shows, tests and re-enables endpoints that were created on the live API.
    const { id } =
      this.realm === 'test'
        ? (await this.world.control('POST', '/webhooks', wish)).body
        : (await this.ask('POST', base, owner, wish)).data;
    await this.ask('GET', base, owner);
    await this.ask('GET', `${base}/${id}`, owner);
    await this.ask('POST', `${base}/${id}/test`, owner);
    await this.ask('POST', `${base}/${id}/reenable`, owner);
    if (this.realm === 'test') return;
    await this.ask('PATCH', `${base}/${id}`, owner, { events: ['investment.created'] });
    await this.ask('POST', `${base}/${id}/rotate_secret`, owner);
    await this.ask('DELETE', `${base}/${id}`, owner);
  }

  async portal(): Promise<void> {
    const { owner } = this.scene;
    const base = '/developer/applications';
    const create = async () => {
      const body = { name: `Walked ${this.realm}`, scopes: ['read:profile', 'read:companies'] };
      return (await this.ask('POST', base, owner, body)).data.id as string;
    };
    const [first, second] = [await create(), await create()];
    await this.ask('GET', base, owner);
    await this.ask('GET', `${base}/${first}`, owner);
    await this.ask('PATCH', `${base}/${first}`, owner, { name: 'Renamed' });
    await this.ask('POST', `${base}/${first}/scopes`, owner, { scopes: ['read:investments'] });
    await this.ask('DELETE', `${base}/${first}/scopes/read:companies`, owner);
    await this.ask('POST', `${base}/${first}/review`, owner);
    await this.ask('POST', `${base}/${first}/disable`, owner);
    await this.ask('DELETE', `${base}/${second}`, owner);
    const visitor = new Visitor(this.world);
    await visitor.signIn('/portal', 'owner@people.example');
    const page = `/portal/applications/${first}`;
    await visitor.answer(page, { action: 'sign_out' });
    for (const path of ['/openapi.json', '/docs']) await this.ask('GET', path, '');
  }

  /** Last, because it ends what other parts use. */
  async installations(): Promise<void> {
    const { second, secondFounder: founder, investorToken } = this.scene;
    await this.ask('GET', '/installations', founder);
    await this.ask('GET', '/installations/eligible', founder);
    await this.ask('GET', `/installations/${second.installation}`, founder);
    await this.ask('POST', `/installations/${second.installation}/tokens`, founder);
    await this.ask('DELETE', `/installations/${second.installation}`, founder);
    await this.ask('POST', '/installations', founder, { target_type: 'company', target_id: second.id });
    const visitor = new Visitor(this.world);
    const link = `/install/${this.scene.keys.clientId}`;
    await visitor.signIn(link, this.scene.investor);
    await visitor.answer(link, { action: 'cancel' });
    const [app] = (await this.ask('GET', '/connected-apps', investorToken)).data;
    await this.ask('DELETE', `/connected-apps/${app.id}`, investorToken);
  }
}

test.each(['test', 'live'] as const)(
  'SEC-01 every operation succeeds in the %s realm with the ready document, the control API and the pages alone',
  async (realm) => {
    const recorder = new Recorder(world);
    const walk = new Walk(recorder.world, realm, sceneOf(world, realm));
    await walk.catalog();
    await walk.investments();
    await walk.people();
    await walk.oauth();
    await walk.syndicate();
    await walk.intents();
    await walk.referrals();
    await walk.links();
    await walk.sessions();
    await walk.attribution();
    await walk.webhooks();
    await walk.portal();
    await walk.installations();
    const missing = operations.map(({ id }) => id).filter((id) => !recorder.reached.has(id));
    expect(missing.sort()).toEqual([...outside[realm], neverSucceeds].sort());
  },
);

test('every operation exists in at least one realm, apart from the one that always refers to intents', () => {
  const nowhere = outside.test.filter((id) => outside.live.includes(id));
  expect(nowhere).toEqual([]);
  expect(operations.find(({ id }) => id === neverSucceeds)?.responses).toEqual({});
});
