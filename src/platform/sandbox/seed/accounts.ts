import type { Random } from '../../../runtime/random.js';
import { latestVersion } from '../../../wire/versions.js';
import { grantedScopes, selfServeScopes } from '../../contract/scopes.js';
import type { State } from '../../state/database.js';
import { digestOf, newId, newSecret, type Realm } from '../../state/secrets.js';
import { run } from '../../state/statements.js';

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
  readonly name: string;
  readonly test: SeededClient;
  readonly live: SeededClient;
}

/** Seeds the organization with its users, and one application with all self-serve scopes. */
export function seedApplication(
  seeding: Seeding,
  owner: SeededUser,
  developer: SeededUser,
): SeededApplication {
  const { state, random, now } = seeding;
  const organization = run(state, 'INSERT INTO organizations (id, name) VALUES (?, ?)', [
    newId(random, 'org_'),
    'Sandbox Partners',
  ]).no;
  for (const [user, role] of [
    [owner, 'owner'],
    [developer, 'developer'],
  ] as const) {
    run(state, 'INSERT INTO organization_members (organization_no, user_no, role) VALUES (?, ?, ?)', [
      organization,
      user.no,
      role,
    ]);
  }
  const name = 'Roster Mirror';
  const application = run(
    state,
    `INSERT INTO applications (id, organization_no, name, redirect_uris, scopes, approved_at, pii_approved, pinned_version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)`,
    [
      newId(random, 'app_'),
      organization,
      name,
      JSON.stringify([sandboxRedirectUri]),
      JSON.stringify(selfServeScopes),
      now,
      latestVersion,
      now,
    ],
  ).no;
  return {
    no: application,
    name,
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

export interface InstallTarget {
  readonly application: number;
  readonly installer: SeededUser;
  readonly tier: string;
  readonly companyNo?: number;
  readonly syndicateNo?: number;
}

export function seedInstallation(seeding: Seeding, target: InstallTarget): { no: number; id: string } {
  const id = newId(seeding.random, 'inst_');
  const { no } = run(
    seeding.state,
    `INSERT INTO installations (id, application_no, realm, company_no, syndicate_no, tier, scopes, installed_by_no, installed_at)
     VALUES (?, ?, 'test', ?, ?, ?, ?, ?, ?)`,
    [
      id,
      target.application,
      target.companyNo ?? null,
      target.syndicateNo ?? null,
      target.tier,
      grantedScopes.join(' '),
      target.installer.no,
      seeding.now,
    ],
  );
  return { no, id };
}
