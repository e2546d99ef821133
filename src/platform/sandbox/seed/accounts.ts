import type { Random } from '../../../runtime/random.js';
import { latestVersion } from '../../../wire/versions.js';
import { grantedScopes } from '../../contract/scopes.js';
import { type LoneTokenWish, mintToken } from '../../oauth/mint.js';
import type { MintedPair } from '../../oauth/pairs.js';
import type { State } from '../../state/database.js';
import { digestOf, newId, newSecret, type Realm } from '../../state/secrets.js';
import { run } from '../../state/statements.js';
import type { WorldUser } from '../document.js';

export const sandboxRedirectUri = 'http://127.0.0.1:8790/callback';

export interface Seeding {
  readonly state: State;
  readonly random: Random;
  readonly now: number;
}

export interface SeededUser {
  readonly no: number;
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface SeededClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export function seedUser(seeding: Seeding, username: string, name: string): SeededUser {
  const id = newId(seeding.random, 'usr_');
  const email = `${username}@people.example`;
  const { no } = run(
    seeding.state,
    `INSERT INTO users (id, email, username, name, legal_name, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
    [id, email, username, name, name, seeding.now],
  );
  return { no, id, email, name };
}

export interface SeededApplication {
  readonly no: number;
  readonly organizationNo: number;
  readonly name: string;
  readonly test: SeededClient;
  readonly live: SeededClient;
}

export interface ApplicationPlan {
  readonly organization: string;
  readonly name: string;
  readonly members: readonly (readonly [user: SeededUser, role: 'owner' | 'developer'])[];
  readonly scopes: readonly string[];
  /** Whether the platform has reviewed it, and approved it to see the identity of investors. */
  readonly approved: boolean;
}

/** Seeds an organization with its users and one application. */
export function seedApplication(seeding: Seeding, plan: ApplicationPlan): SeededApplication {
  const { state, random, now } = seeding;
  const organization = run(state, 'INSERT INTO organizations (id, name) VALUES (?, ?)', [
    newId(random, 'org_'),
    plan.organization,
  ]).no;
  for (const [user, role] of plan.members) {
    run(state, 'INSERT INTO organization_members (organization_no, user_no, role) VALUES (?, ?, ?)', [
      organization,
      user.no,
      role,
    ]);
  }
  const application = run(
    state,
    `INSERT INTO applications (id, organization_no, name, redirect_uris, scopes, approved_at, pii_approved, pinned_version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      newId(random, 'app_'),
      organization,
      plan.name,
      JSON.stringify([sandboxRedirectUri]),
      JSON.stringify(plan.scopes),
      plan.approved ? now : null,
      plan.approved ? 1 : 0,
      latestVersion,
      now,
    ],
  ).no;
  return {
    no: application,
    organizationNo: organization,
    name: plan.name,
    test: seedClient(seeding, application, 'test'),
    live: seedClient(seeding, application, 'live'),
  };
}

function seedClient(seeding: Seeding, application: number, realm: Realm): SeededClient {
  const clientId = newSecret(seeding.random, `pk_${realm}_`);
  const clientSecret = newSecret(seeding.random, `sk_${realm}_`);
  run(
    seeding.state,
    'INSERT INTO clients (client_id, application_no, realm, secret_digest, secret_plain) VALUES (?, ?, ?, ?, ?)',
    [clientId, application, realm, digestOf(clientSecret), realm === 'test' ? clientSecret : null],
  );
  return { clientId, clientSecret };
}

/** Mints the tokens of a user who has connected the application. */
export function seedUserToken(
  seeding: Seeding,
  application: SeededApplication,
  realm: Realm,
  userNo: number,
  scopes: readonly string[],
): MintedPair {
  const { clientId } = application[realm];
  const wish = { kind: 'user', realm, applicationNo: application.no, clientId, userNo, scopes } as const;
  return mintToken(seeding, wish, seeding.now);
}

/** Mints the tokens of a user who has connected the application, in both realms. */
export function seedWorldUser(seeding: Seeding, application: SeededApplication, user: SeededUser): WorldUser {
  const test = seedUserToken(seeding, application, 'test', user.no, grantedScopes);
  const live = seedUserToken(seeding, application, 'live', user.no, grantedScopes);
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    token: test.token,
    refreshToken: test.refreshToken,
    liveToken: live.token,
    liveRefreshToken: live.refreshToken,
  };
}

export interface InstallTarget {
  readonly application: number;
  readonly installer: SeededUser;
  readonly tier: string;
  readonly companyNo?: number;
  readonly syndicateNo?: number;
  /** Default: the sandbox realm, with every scope an installation can hold. */
  readonly realm?: Realm;
  readonly scopes?: readonly string[];
}

export function seedInstallation(seeding: Seeding, target: InstallTarget): { no: number; id: string } {
  const id = newId(seeding.random, 'inst_');
  const { no } = run(
    seeding.state,
    `INSERT INTO installations (id, application_no, realm, company_no, syndicate_no, tier, scopes, installed_by_no, installed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      target.application,
      target.realm ?? 'test',
      target.companyNo ?? null,
      target.syndicateNo ?? null,
      target.tier,
      (target.scopes ?? grantedScopes).join(' '),
      target.installer.no,
      seeding.now,
    ],
  );
  return { no, id };
}

export function seedInstallationToken(
  seeding: Seeding,
  wish: Omit<Extract<LoneTokenWish, { kind: 'installation' }>, 'kind'>,
): string {
  return mintToken(seeding, { kind: 'installation', ...wish }, seeding.now).token;
}

/** Mints an API key of a syndicate. */
export function seedSyndicateKey(
  seeding: Seeding,
  wish: Omit<Extract<LoneTokenWish, { kind: 'syndicate_key' }>, 'kind'>,
): string {
  return mintToken(seeding, { kind: 'syndicate_key', ...wish }, seeding.now).token;
}
