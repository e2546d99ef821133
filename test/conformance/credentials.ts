import { createHash } from 'node:crypto';
import { type ApplicationWish, createApplication } from '../../src/platform/applications/model.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import type { Realm } from '../../src/platform/state/secrets.js';
import { one, run } from '../../src/platform/state/statements.js';
import type { Answered, RunningPlatform } from './running-platform.js';

export const redirectUri = 'https://partner.example/callback';
export const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const challenge = createHash('sha256').update(verifier).digest('base64url');

export interface TestClient {
  readonly applicationNo: number;
  readonly applicationId: string;
  readonly clientId: string;
  readonly secret: string;
  readonly realm: Realm;
  readonly redirectUri: string;
  readonly confidential: boolean;
}

/** A new application for one test, owned by the sandbox's organization unless the test names another. */
export function makeClient(
  world: RunningPlatform,
  wish: Partial<ApplicationWish> & { realm?: Realm; approved?: boolean; piiApproved?: boolean } = {},
): TestClient {
  const { services } = world;
  const { application, clients } = createApplication(
    services,
    {
      organizationNo: 1,
      name: 'Test Partner',
      confidential: true,
      redirectUris: [redirectUri],
      scopes: ['read:profile', 'read:investments', 'write:webhooks', 'write:installations'],
      ...wish,
    },
    services.clock.now(),
  );
  run(services.state, 'UPDATE applications SET approved_at = ?, pii_approved = ? WHERE no = ?', [
    (wish.approved ?? true) ? services.clock.now() : null,
    wish.piiApproved === true ? 1 : 0,
    application.no,
  ]);
  const realm = wish.realm ?? 'test';
  return {
    applicationNo: application.no,
    applicationId: application.id,
    clientId: clients[realm].clientId,
    secret: clients[realm].secret,
    realm,
    redirectUri: application.redirectUris[0] ?? redirectUri,
    confidential: application.confidential,
  };
}

export function makeOrganization(world: RunningPlatform, name: string): number {
  return run(world.services.state, 'INSERT INTO organizations (id, name) VALUES (?, ?)', [
    `org_${name}`,
    name,
  ]).no;
}

export function userNo(world: RunningPlatform, email: string): number {
  const row = one<{ no: number }>(world.services.state, 'SELECT no FROM users WHERE email = ?', [email]);
  if (row === undefined) throw new Error(`no person has the address ${email}`);
  return row.no;
}

export const form = (fields: Readonly<Record<string, string | undefined>>): URLSearchParams => {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.append(name, value);
  return body;
};

export interface Asking {
  readonly scope?: string;
  readonly state?: string;
  readonly redirectUri?: string;
  readonly more?: Readonly<Record<string, string | undefined>>;
}

export function authorizePath(client: TestClient, asking: Asking = {}): string {
  const query = form({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: asking.redirectUri ?? client.redirectUri,
    scope: asking.scope,
    state: asking.state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...asking.more,
  });
  return `${client.realm === 'test' ? '/sandbox' : ''}/oauth/authorize?${query}`;
}

/** Acts as a browser without one: follows the forms of the pages and keeps the cookie. */
export class Visitor {
  cookie = '';
  constructor(readonly world: RunningPlatform) {}

  async open(path: string): Promise<Answered> {
    return this.#kept(await this.world.get(path, { headers: { cookie: this.cookie } }));
  }

  async submit(path: string, fields: Readonly<Record<string, string>>): Promise<Answered> {
    return this.#kept(await this.world.post(path, { headers: { cookie: this.cookie }, body: form(fields) }));
  }

  /** Opens the page and submits its form with the CSRF token it contains. */
  async answer(path: string, fields: Readonly<Record<string, string>>): Promise<Answered> {
    const page = await this.open(path);
    return this.submit(path, { csrf: csrfOf(page), ...fields });
  }

  async signIn(path: string, email: string): Promise<Answered> {
    return this.answer(path, { action: 'sign_in', email });
  }

  #kept(answer: Answered): Answered {
    const set = answer.headers.get('set-cookie');
    if (set !== null) this.cookie = set.split(';')[0] ?? '';
    return answer;
  }
}

export function csrfOf(page: Answered): string {
  const found = /name="csrf" value="([^"]+)"/.exec(String(page.body))?.[1];
  if (found === undefined) throw new Error(`no form on the page, status ${page.status}: ${page.body}`);
  return found;
}

/** The redirect target of a response, with its parameters. */
export function location(answer: Answered): URL {
  const to = answer.headers.get('location');
  if (to === null) throw new Error(`no redirect, status ${answer.status}: ${JSON.stringify(answer.body)}`);
  return new URL(to, 'http://here.invalid');
}

/** Completes the authorization as `email` and returns the code. */
export async function approve(
  world: RunningPlatform,
  client: TestClient,
  email: string,
  asking: Asking = {},
): Promise<URL> {
  const visitor = new Visitor(world);
  const path = authorizePath(client, asking);
  await visitor.signIn(path, email);
  return location(await visitor.answer(path, { action: 'approve' }));
}

export async function codeFor(
  world: RunningPlatform,
  client: TestClient,
  email: string,
  asking: Asking = {},
): Promise<string> {
  const code = (await approve(world, client, email, asking)).searchParams.get('code');
  if (code === null) throw new Error('the redirect has no code');
  return code;
}

export function exchange(
  world: RunningPlatform,
  client: TestClient,
  code: string,
  changed: Readonly<Record<string, string | undefined>> = {},
): Promise<Answered> {
  const body = form({
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirectUri,
    client_id: client.clientId,
    client_secret: client.confidential ? client.secret : undefined,
    code_verifier: verifier,
    ...changed,
  });
  return world.post('/oauth/token', { body });
}

export async function tokensFor(
  world: RunningPlatform,
  client: TestClient,
  email: string,
  asking: Asking = {},
  // biome-ignore lint/suspicious/noExplicitAny: the body of a token response, looked into by tests
): Promise<any> {
  const answer = await exchange(world, client, await codeFor(world, client, email, asking));
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export function refresh(
  world: RunningPlatform,
  client: TestClient,
  refreshToken: string,
  changed: Readonly<Record<string, string | undefined>> = {},
): Promise<Answered> {
  const body = form({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: client.clientId,
    client_secret: client.confidential ? client.secret : undefined,
    ...changed,
  });
  return world.post('/oauth/token', { body });
}

/** Returns whether an access token is accepted: only a 401 means no. Counts as the first use of the token. */
export async function works(world: RunningPlatform, token: string): Promise<boolean> {
  return (await world.get('/installations', { token })).status !== 401;
}

/** Mints an access token of a person for an application without the authorize pages. */
export function userToken(
  world: RunningPlatform,
  client: TestClient,
  email: string,
  scopes: readonly string[] = ['write:installations'],
): string {
  const { applicationNo, clientId, realm } = client;
  const wish = {
    kind: 'user',
    realm,
    applicationNo,
    clientId,
    userNo: userNo(world, email),
    scopes,
  } as const;
  return mintToken(world.services, wish, world.services.clock.now()).token;
}

let made = 0;

export interface Place {
  readonly no: number;
  readonly id: string;
}

export type CompanyRole = readonly ['founder' | 'admin' | 'editor', canEdit?: boolean];

/** Creates a company with the people a test needs, keyed by the part of their address before the @. */
export function makeCompany(
  world: RunningPlatform,
  members: Readonly<Record<string, CompanyRole>>,
  realm: Realm = 'test',
): Place {
  const { state } = world.services;
  made += 1;
  const id = `co_test${made}`;
  const { no } = run(
    state,
    'INSERT INTO companies (id, realm, name, slug, created_at) VALUES (?, ?, ?, ?, 0)',
    [id, realm, `Company ${made}`, `company-${made}`],
  );
  for (const [name, [tier, canEdit]] of Object.entries(members)) {
    run(state, 'INSERT INTO company_members (company_no, user_no, tier, can_edit) VALUES (?, ?, ?, ?)', [
      no,
      userNo(world, `${name}@people.example`),
      tier,
      canEdit === false ? 0 : 1,
    ]);
  }
  return { no, id };
}

export function makeSyndicate(
  world: RunningPlatform,
  managers: Readonly<Record<string, 'full_access' | 'operator'>>,
): Place {
  const { state } = world.services;
  made += 1;
  const id = `syn_test${made}`;
  const { no } = run(
    state,
    'INSERT INTO syndicates (id, name, slug, created_by_no, created_at) VALUES (?, ?, ?, 1, 0)',
    [id, `Syndicate ${made}`, `syndicate-${made}`],
  );
  for (const [name, permission] of Object.entries(managers)) {
    run(state, 'INSERT INTO syndicate_managers (syndicate_no, user_no, permission) VALUES (?, ?, ?)', [
      no,
      userNo(world, `${name}@people.example`),
      permission,
    ]);
  }
  return { no, id };
}
