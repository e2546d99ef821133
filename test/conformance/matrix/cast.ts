import type { Operation } from '../../../src/platform/contract/operation.js';
import { selfServeScopes } from '../../../src/platform/contract/scopes.js';
import { type LoneTokenWish, mintToken } from '../../../src/platform/oauth/mint.js';
import { newId, type Realm } from '../../../src/platform/state/secrets.js';
import { one, run } from '../../../src/platform/state/statements.js';
import {
  makeClient,
  makeCompany,
  makeOrganization,
  makeSyndicate,
  type Place,
  type TestClient,
} from '../credentials.js';
import { company, type RunningPlatform } from '../running-platform.js';
import type { Cell } from './table.js';

/** Every kind of caller, relative to one company. */
export const callers = [
  'none',
  'garbage',
  'expired',
  'revoked',
  'publishable',
  'publishableOther',
  'application',
  'owner',
  'developer',
  'founder',
  'founderOtherRealm',
  'otherFounder',
  'investor',
  'install',
  'installIdentity',
  'installOther',
  'installSyndicate',
  'syndicateKey',
] as const;
export type CastName = (typeof callers)[number];
export type Expected = Readonly<Record<CastName, Cell>>;

/** Invalid credentials, and those of an application, which reach no one's data. */
export const outside = {
  none: '401 unauthorized',
  garbage: '401 unauthorized',
  expired: '401 unauthorized',
  revoked: '401 unauthorized',
  publishable: '403 insufficient_scope',
  publishableOther: '403 insufficient_scope',
  application: '403 insufficient_scope',
} as const;

export interface Installed extends Place {
  readonly installationId: string;
}

export interface Cast {
  readonly world: RunningPlatform;
  readonly realm: Realm;
  readonly client: TestClient;
  /** Owned by the application's organization, neither approved nor installed. */
  readonly secondApplication: string;
  /** Owned by another organization. */
  readonly foreignApplication: string;
  readonly here: Installed;
  readonly elsewhere: Installed;
  readonly syndicate: Installed;
  /** Edited by the founder; the application is not installed on it. */
  readonly vacant: Place;
  token(caller: CastName, operation: Pick<Operation, 'scopes'>): string | null;
}

const otherRealm: Readonly<Record<Realm, Realm>> = { test: 'live', live: 'test' };

/** In the test realm the company is a seeded one with records, and `investor` owns one of them. */
export function makeCast(world: RunningPlatform, realm: Realm, investorId?: string): Cast {
  const { services, clock } = world;
  const { state } = services;
  const person = (name: string): number =>
    run(
      state,
      `INSERT INTO users (id, email, username, name, legal_name, created_at) VALUES (?, ?, ?, ?, ?, 0)`,
      [newId(services.random, 'usr_'), `${name}.${realm}@matrix.example`, name, name, name],
    ).no;
  const people = {
    owner: person('owner'),
    developer: person('developer'),
    founder: person('founder'),
    otherFounder: person('otherFounder'),
    investor:
      one<{ no: number }>(state, 'SELECT no FROM users WHERE id = ?', [investorId ?? ''])?.no ??
      person('investor'),
  };
  const organizationNo = makeOrganization(world, `matrix_${realm}`);
  for (const role of ['owner', 'developer'] as const) {
    run(state, 'INSERT INTO organization_members (organization_no, user_no, role) VALUES (?, ?, ?)', [
      organizationNo,
      people[role],
      role,
    ]);
  }
  const wish = { organizationNo, realm, scopes: [...selfServeScopes], piiApproved: true };
  const client = makeClient(world, wish);
  const edits = (place: Place, userNo: number): Place => {
    run(state, `INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, 'founder')`, [
      place.no,
      userNo,
    ]);
    return place;
  };
  const seeded = (index: number): Place => {
    const { id } = company(world, index);
    const row = one<{ no: number }>(state, 'SELECT no FROM companies WHERE id = ?', [id]);
    return { id, no: row?.no ?? 0 };
  };
  const place = (index: number): Place => (realm === 'test' ? seeded(index) : makeCompany(world, {}, realm));
  const installed = (
    target: Place,
    column: 'company_no' | 'syndicate_no',
    tier: string,
  ): Installed & { seat: number } => {
    const installationId = newId(services.random, 'inst_');
    const { no } = run(
      state,
      `INSERT INTO installations (id, application_no, realm, ${column}, tier, scopes, installed_by_no, installed_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
      [
        installationId,
        client.applicationNo,
        realm,
        target.no,
        tier,
        selfServeScopes.join(' '),
        people.founder,
      ],
    );
    return { ...target, installationId, seat: no };
  };
  const here = installed(edits(place(0), people.founder), 'company_no', 'founder');
  const elsewhere = installed(edits(place(1), people.otherFounder), 'company_no', 'founder');
  const manyHands = makeSyndicate(world, {});
  run(state, 'UPDATE syndicates SET realm = ? WHERE no = ?', [realm, manyHands.no]);
  const syndicate = installed(manyHands, 'syndicate_no', 'full_access');
  const vacant = edits(makeCompany(world, {}, realm), people.founder);

  const lone = (wanted: DistributiveOmit<LoneTokenWish, 'applicationNo' | 'realm'>): string =>
    mintToken(services, { ...wanted, realm, applicationNo: client.applicationNo }, clock.now()).token;
  const user = (userNo: number, scopes: readonly string[], inRealm = realm): string => {
    const { applicationNo } = client;
    const clientId = keyOf(world, applicationNo, inRealm);
    return mintToken(
      services,
      { kind: 'user', realm: inRealm, applicationNo, clientId, userNo, scopes },
      clock.now(),
    ).token;
  };
  const spoiled = (column: 'expires_at' | 'revoked_at', scopes: readonly string[]): string => {
    const made = user(people.founder, scopes);
    run(state, `UPDATE access_tokens SET ${column} = ? WHERE no = (SELECT max(no) FROM access_tokens)`, [
      clock.now(),
    ]);
    return made;
  };
  const seat = (installationNo: number, scopes: readonly string[]): string =>
    lone({ kind: 'installation', installationNo, scopes });

  return {
    world,
    realm,
    client,
    secondApplication: makeClient(world, { ...wish, name: 'Second', approved: false }).applicationId,
    foreignApplication: makeClient(world, {
      realm,
      organizationNo: makeOrganization(world, `foreign_${realm}`),
    }).applicationId,
    here,
    elsewhere,
    syndicate,
    vacant,
    token: (caller, operation) => {
      // The minimum scope the operation requires, so that a cell never passes through an unneeded scope.
      const scopes = operation.scopes?.slice(0, 1) ?? [];
      switch (caller) {
        case 'none':
          return null;
        case 'garbage':
          return `at_${realm}_${'x'.repeat(40)}`;
        case 'expired':
          return spoiled('expires_at', scopes);
        case 'revoked':
          return spoiled('revoked_at', scopes);
        case 'publishable':
          return client.clientId;
        case 'publishableOther':
          return keyOf(world, client.applicationNo, otherRealm[realm]);
        case 'application':
          return lone({ kind: 'application', scopes: ['read:public'] });
        case 'founderOtherRealm':
          return user(people.founder, scopes, otherRealm[realm]);
        case 'install':
          return seat(here.seat, scopes);
        case 'installIdentity':
          return seat(here.seat, [...scopes, 'read:investors:pii']);
        case 'installOther':
          return seat(elsewhere.seat, scopes);
        case 'installSyndicate':
          return seat(syndicate.seat, scopes);
        case 'syndicateKey':
          return lone({ kind: 'syndicate_key', syndicateNo: syndicate.no, scopes });
        default:
          return user(people[caller], scopes);
      }
    },
  };
}

type DistributiveOmit<T, Keys extends PropertyKey> = T extends unknown ? Omit<T, Keys> : never;

function keyOf(world: RunningPlatform, applicationNo: number, realm: Realm): string {
  const row = one<{ client_id: string }>(
    world.services.state,
    'SELECT client_id FROM clients WHERE application_no = ? AND realm = ?',
    [applicationNo, realm],
  );
  if (row === undefined) throw new Error(`the application has no ${realm} key`);
  return row.client_id;
}
