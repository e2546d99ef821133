import type { PlatformEvent } from '../../src/platform/events.js';
import { insertInstallation, mintFor } from '../../src/platform/installations/install.js';
import type { Standing } from '../../src/platform/members/model.js';
import { insertMember, setPermission } from '../../src/platform/members/write.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import type { Realm } from '../../src/platform/state/secrets.js';
import { one, run } from '../../src/platform/state/statements.js';
import { makeClient, type TestClient, userToken } from './credentials.js';
import type { RunningPlatform } from './running-platform.js';

let made = 0;
const serial = () => {
  made += 1;
  return made;
};

export interface TestPerson {
  readonly no: number;
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface PersonWish {
  readonly accredited?: boolean;
  readonly address?: { readonly city: string; readonly state: string | null; readonly country: string };
  readonly hideLocation?: boolean;
  readonly email?: string;
}

export function makePerson(world: RunningPlatform, name: string, wish: PersonWish = {}): TestPerson {
  const { state } = world.services;
  const number = serial();
  const id = `usr_person${number}`;
  const email = wish.email ?? `person${number}@people.example`;
  const address =
    wish.address === undefined ? null : JSON.stringify({ line: '1 Nowhere Lane', ...wish.address });
  const { no } = run(
    state,
    `INSERT INTO users (id, email, username, name, legal_name, address, accredited, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
    [id, email, `person${number}`, name, `${name} Legal`, address, wish.accredited === true ? 1 : 0],
  );
  if (wish.hideLocation !== undefined) {
    run(state, 'INSERT INTO member_profiles (user_no, hide_location) VALUES (?, ?)', [
      no,
      wish.hideLocation ? 1 : 0,
    ]);
  }
  return { no, id, email, name };
}

export interface TestMember {
  readonly no: number;
  readonly id: string;
  readonly person: TestPerson;
}

export const syndicateScopes = ['write:syndicates', 'read:investors:pii'] as const;

export interface TestSyndicate {
  readonly no: number;
  readonly id: string;
  readonly path: string;
  readonly creator: TestMember;
  readonly client: TestClient;
  readonly creatorToken: string;
  readonly installation: string;
  readonly installationToken: string;
  add(name: string, as?: Standing | 'operator' | 'full_access', wish?: PersonWish): TestMember;
  token(member: { readonly person: TestPerson }, scopes?: readonly string[]): string;
  /** Returns the events since the last call, with the payload for the installation. */
  told(): { readonly name: string; readonly data: unknown }[];
  set(columns: Readonly<Record<string, string | number | null>>): void;
}

/** A new syndicate for one test, with its creator and an installed application. */
export function foundSyndicate(world: RunningPlatform, realm: Realm = 'test'): TestSyndicate {
  const { services } = world;
  const { state } = services;
  const number = serial();
  const id = `syn_life${number}`;
  const now = services.clock.now();
  const founder = makePerson(world, `Creator ${number}`);
  const { no } = run(
    state,
    `INSERT INTO syndicates (id, realm, name, slug, created_by_no, description, published, created_at)
     VALUES (?, ?, ?, ?, ?, 'Invests.', 1, ?)`,
    [id, realm, `Life ${number}`, `life-${number}`, founder.no, now],
  );
  const add = (person: TestPerson, as: Standing | 'operator' | 'full_access'): TestMember => {
    const permission = as === 'operator' || as === 'full_access' ? as : null;
    const standing = permission === null ? (as as Standing) : 'member';
    const row = insertMember(services, { syndicateNo: no, userNo: person.no, standing }, now);
    // A person who is not a member now was one or applied; only an invitee has never consented.
    run(state, 'UPDATE syndicate_members SET consented = ? WHERE no = ?', [
      standing === 'invitee' ? 0 : 1,
      row.no,
    ]);
    if (permission !== null) setPermission(services, row, permission);
    return { no: row.no, id: row.id, person };
  };
  const creator = add(founder, 'full_access');
  const client = makeClient(world, {
    realm,
    scopes: [...syndicateScopes, 'write:webhooks'],
    piiApproved: true,
  });
  const installation = insertInstallation(
    services,
    {
      applicationNo: client.applicationNo,
      realm,
      target: { type: 'syndicate', no },
      tier: 'full_access',
      scopes: syndicateScopes,
      userNo: founder.no,
    },
    now,
  );
  let events: PlatformEvent[] = [];
  services.events.subscribe((event) => {
    if (event.syndicateNo === no) events.push(event);
  });
  return {
    no,
    id,
    path: `/syndicates/${id}`,
    creator,
    client,
    creatorToken: userToken(world, client, founder.email, syndicateScopes),
    installation: installation.id,
    installationToken: mintFor(services, installation, syndicateScopes, now).token,
    add: (name, as = 'member', wish = {}) => add(makePerson(world, name, wish), as),
    token: (member, scopes = syndicateScopes) => userToken(world, client, member.person.email, scopes),
    told() {
      const told = events.map((event) => ({
        name: event.name,
        data: event.dataFor({ scopes: new Set(syndicateScopes), kind: 'syndicate' }),
      }));
      events = [];
      return told;
    },
    set(columns) {
      for (const [column, value] of Object.entries(columns)) {
        state.prepare(`UPDATE syndicates SET ${column} = ? WHERE no = ?`).run(value, no);
      }
    },
  };
}

export interface TestDeal {
  readonly no: number;
  readonly id: string;
  readonly company: { readonly no: number; readonly id: string };
  /** Returns the id of the investment. */
  invest(person: TestPerson, cents: number, more?: Readonly<Record<string, unknown>>): Promise<string>;
}

/** A company with one round, run by the syndicate. */
export function openDeal(
  world: RunningPlatform,
  syndicate: { readonly no: number },
  status = 'open',
): TestDeal {
  const { services } = world;
  const number = serial();
  const now = services.clock.now();
  const company = `co_deal${number}`;
  const { no: companyNo } = run(
    services.state,
    `INSERT INTO companies (id, name, slug, created_at) VALUES (?, ?, ?, 0)`,
    [company, `Deal Company ${number}`, `deal-company-${number}`],
  );
  const id = `ofr_deal${number}`;
  const { no } = run(
    services.state,
    `INSERT INTO offerings (id, company_no, syndicate_no, status, started_at, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
    [id, companyNo, syndicate.no, status, now, now],
  );
  return {
    no,
    id,
    company: { no: companyNo, id: company },
    async invest(person, cents, more = {}) {
      const set = {
        investor: { id: person.id },
        status: 'active',
        group: 'NO PAYMENT YET',
        amounts: { committed_cents: cents },
        ...more,
      };
      const answer = await world.control('POST', '/investments', { company, set });
      if (answer.status !== 200) throw new Error(`no investment: ${JSON.stringify(answer.body)}`);
      return answer.body.ids[0] as string;
    },
  };
}

/** A key bound to the syndicate itself, without an installation and without expiry. */
export const syndicateKey = (
  world: RunningPlatform,
  syndicate: TestSyndicate,
  scopes: readonly string[] = syndicateScopes,
) =>
  mintToken(
    world.services,
    {
      kind: 'syndicate_key',
      realm: syndicate.client.realm,
      applicationNo: syndicate.client.applicationNo,
      syndicateNo: syndicate.no,
      scopes,
    },
    world.services.clock.now(),
  ).token;

export const applicationToken = (
  world: RunningPlatform,
  syndicate: TestSyndicate,
  scopes: readonly string[],
) =>
  mintToken(
    world.services,
    {
      kind: 'application',
      realm: syndicate.client.realm,
      applicationNo: syndicate.client.applicationNo,
      scopes,
    },
    world.services.clock.now(),
  ).token;

/** Reads the row, for state that no response shows. */
export const standingOf = (world: RunningPlatform, member: { readonly no: number }): string | undefined =>
  one<{ standing: string }>(world.services.state, 'SELECT standing FROM syndicate_members WHERE no = ?', [
    member.no,
  ])?.standing;
