import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { impliedScopes, scopeAliases } from '../../src/platform/contract/scopes.js';
import { type EventName, eventNames, eventScopes } from '../../src/wire/events.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import {
  createEndpoint,
  startWebhookPlatform,
  type WebhookPlatform,
} from '../platform/webhooks/webhook-platform.js';

type Kind = 'company' | 'syndicate' | 'user';
type Realm = 'live' | 'test';

/**
 * The routing table of events: the scope an installation must hold, and the kinds of installation. It is repeated
 * here on purpose: the matrix below is built from it and from nothing in `src/`.
 */
const table: Readonly<Record<EventName, readonly [scope: string | null, ...kinds: Kind[]]>> = {
  'investment.created': ['read:companies', 'company', 'syndicate', 'user'],
  'investment.reinstated': ['read:companies', 'company', 'syndicate', 'user'],
  'investment.canceled': ['read:companies', 'company', 'syndicate', 'user'],
  'investment.converted': ['read:companies', 'company', 'syndicate', 'user'],
  'investment.amount_changed': ['read:companies', 'company', 'syndicate', 'user'],
  'investment.executed': ['read:companies', 'company', 'syndicate', 'user'],
  'investment.changed': ['read:investments', 'company', 'syndicate', 'user'],
  'investment.referred': ['read:attribution:anonymized', 'company', 'syndicate', 'user'],
  'offering.opened': ['read:companies', 'company', 'syndicate', 'user'],
  'offering.closing': ['read:companies', 'company', 'syndicate', 'user'],
  'offering.closed': ['read:companies', 'company', 'syndicate', 'user'],
  'offering.canceled': ['read:companies', 'company', 'syndicate', 'user'],
  'investment_session.created': ['read:investment_sessions', 'company', 'syndicate'],
  'investment_session.started': ['read:investment_sessions', 'company', 'syndicate'],
  'investment_session.completed': ['read:investment_sessions', 'company', 'syndicate'],
  'investment_session.expired': ['read:investment_sessions', 'company', 'syndicate'],
  'investment_session.canceled': ['read:investment_sessions', 'company', 'syndicate'],
  'syndicate_member.invited': ['read:syndicates', 'syndicate'],
  'syndicate_member.reinvited': ['read:syndicates', 'syndicate'],
  'syndicate_member.applied': ['read:syndicates', 'syndicate'],
  'syndicate_member.approved': ['read:syndicates', 'syndicate'],
  'syndicate_member.joined': ['read:syndicates', 'syndicate'],
  'syndicate_member.left': ['read:syndicates', 'syndicate'],
  'syndicate_member.declined': ['read:syndicates', 'syndicate'],
  'join_session.created': ['write:syndicate_members', 'syndicate'],
  'join_session.started': ['write:syndicate_members', 'syndicate'],
  'join_session.completed': ['write:syndicate_members', 'syndicate'],
  'join_session.expired': ['write:syndicate_members', 'syndicate'],
  'join_session.canceled': ['write:syndicate_members', 'syndicate'],
  'installation.created': [null, 'company', 'syndicate', 'user'],
  'installation.revoked': [null, 'company', 'syndicate', 'user'],
};

const scopeSets: Readonly<Record<string, readonly string[]>> = {
  nothing: ['read:public'],
  companies: ['read:companies'],
  investments: ['read:investments'],
  alias: ['read:offerings'],
  implied: ['write:syndicates', 'write:investment_sessions', 'read:attribution:full', 'write:investments'],
  everything: [...new Set(Object.values(eventScopes).filter((scope) => scope !== null))],
};

function carries(held: readonly string[], scope: string): boolean {
  return held.some((name) => {
    const meant = scopeAliases[name] ?? name;
    return meant === scope || (impliedScopes[meant] ?? []).some((next) => carries([next], scope));
  });
}

interface Installed {
  readonly no: number;
  readonly id: string;
  readonly realm: Realm;
  readonly kind: Kind;
  readonly scopes: readonly string[];
  /** Whether the target is the company or syndicate the events are about, or another one. */
  readonly here: boolean;
  readonly revoked: boolean;
}

interface Hook {
  readonly no: number;
  readonly label: string;
  readonly mode: Realm;
  readonly bound: string | null;
}

let world: WebhookPlatform;
const installed: Installed[] = [];
const hooks: Hook[] = [];
const targets: Record<Realm, { company: number; syndicate: number }> = {
  live: { company: 0, syndicate: 0 },
  test: { company: 0, syndicate: 0 },
};

beforeAll(async () => {
  world = await startWebhookPlatform();
  world.person('first');
  // The matrix checks which delivery rows are created. Every address is a closed port, and the test does not wait for
  // attempts.
  const insertHook = (label: string, mode: Realm, application: number, installation: Installed | null) => {
    const [row] = world.rows<{ no: number }>(
      `INSERT INTO webhook_endpoints (id, application_no, installation_no, mode, url, created_at)
       VALUES (?, ?, ?, ?, ?, 0) RETURNING no`,
      label,
      application,
      installation?.no ?? null,
      mode,
      `http://127.0.0.1:1/${label}`,
    );
    const no = row?.no ?? 0;
    eventNames.forEach((event, position) => {
      world.rows('INSERT INTO webhook_subscriptions VALUES (?, ?, ?) RETURNING 1', event, no, position);
    });
    hooks.push({ no, label, mode, bound: installation?.id ?? null });
  };
  for (const realm of ['live', 'test'] as const) {
    // One installation per company: an application has at most one active install there, so each scope set gets its
    // own.
    targets[realm] = { company: world.company('Here', realm), syndicate: world.syndicate('Here', realm) };
    insertHook(`wide-${realm}`, realm, world.app, null);
    for (const kind of ['company', 'syndicate', 'user'] as const) {
      for (const [name, scopes] of Object.entries(scopeSets)) {
        for (const here of [true, false]) {
          const application = kind === 'user' ? world.app : world.otherApplication();
          const targetNo = targetOf(realm, kind, here);
          const made = world.install({ realm, on: kind, targetNo, scopes, application });
          const one: Installed = { ...made, realm, kind, scopes, here, revoked: false };
          installed.push(one);
          if (application !== world.app) insertHook(`wide-${made.id}`, realm, application, null);
          insertHook(`bound-${name}-${made.id}`, realm, application, one);
        }
      }
    }
    const gone = world.install({
      realm,
      on: 'company',
      targetNo: targets[realm].company,
      application: world.otherApplication(),
    });
    world.rows('UPDATE installations SET revoked_at = 1 WHERE no = ? RETURNING 1', gone.no);
    installed.push({
      ...gone,
      realm,
      kind: 'company',
      scopes: scopeSets.everything ?? [],
      here: true,
      revoked: true,
    });
    const [owner] = world.rows<{ application_no: number }>(
      'SELECT application_no FROM installations WHERE no = ?',
      gone.no,
    );
    insertHook(`wide-${gone.id}`, realm, owner?.application_no ?? 0, null);
  }
});
afterAll(() => world.close());

function targetOf(realm: Realm, kind: Kind, here: boolean): number {
  if (kind === 'company') return here ? targets[realm].company : world.company('Away', realm);
  if (kind === 'syndicate') return here ? targets[realm].syndicate : world.syndicate('Away', realm);
  const person = world.person('connected');
  if (here) {
    world.rows(
      `INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, 'editor') RETURNING 1`,
      targets[realm].company,
      person,
    );
    world.rows(
      `INSERT INTO syndicate_managers VALUES (?, ?, 'operator') RETURNING 1`,
      targets[realm].syndicate,
      person,
    );
  }
  return person;
}

/** Returns the (endpoint, installation) pairs that the table expects for an event. */
function expected(event: EventName, realm: Realm, about: 'company' | 'syndicate'): string[] {
  const [scope, ...kinds] = table[event];
  const told = installed.filter(
    (one) =>
      one.realm === realm &&
      one.here &&
      !one.revoked &&
      (one.kind === about || one.kind === 'user') &&
      kinds.includes(one.kind) &&
      scope !== null &&
      carries(one.scopes, scope),
  );
  return pairs(told, realm);
}

function pairs(told: readonly Installed[], realm: Realm): string[] {
  return told
    .flatMap((one) =>
      hooks
        .filter((hook) => hook.mode === realm)
        .filter((hook) =>
          hook.bound === null
            ? hook.label === (one.kind === 'user' ? `wide-${realm}` : `wide-${one.id}`)
            : hook.bound === one.id,
        )
        .map((hook) => `${hook.label} ${one.id}`),
    )
    .sort();
}

function made(emit: () => void): string[] {
  world.rows('DELETE FROM webhook_attempts RETURNING 1');
  world.rows('DELETE FROM webhook_deliveries RETURNING 1');
  emit();
  return world
    .rows<{ pair: string }>(
      `SELECT e.id || ' ' || i.id AS pair FROM webhook_deliveries d JOIN webhook_endpoints e ON e.no = d.endpoint_no
       JOIN installations i ON i.no = d.installation_no`,
    )
    .map((row) => row.pair)
    .sort();
}

/** Which rule says who gets an event. */
function ruleOf(event: EventName): string {
  const [subject] = event.split('.');
  if (subject === 'offering') return 'EVT-01';
  if (event === 'investment.changed') return 'EVT-03';
  if (event === 'investment.referred') return 'EVT-04';
  if (subject === 'investment') return 'EVT-02';
  if (event === 'syndicate_member.left' || event === 'syndicate_member.declined') return 'EVT-08';
  if (subject === 'syndicate_member') return 'EVT-07';
  return subject === 'join_session' ? 'EVT-09' : 'EVT-11';
}

const routed = eventNames.filter((name) => !name.startsWith('installation.'));
const families = [...new Set(routed.map(ruleOf))].map(
  (rule) => [rule, routed.filter((event) => ruleOf(event) === rule)] as const,
);

describe('the routing matrix: scope × installation kind × realm × endpoint kind', () => {
  test('EVT-11 the event catalog and its scopes match the table', () => {
    expect(Object.keys(table).sort()).toEqual([...eventNames].sort());
    for (const event of eventNames) expect([event, eventScopes[event]]).toEqual([event, table[event][0]]);
  });

  for (const realm of ['live', 'test'] as const) {
    for (const about of ['company', 'syndicate'] as const) {
      test.each(families)(
        `%s events of a ${realm} ${about} reach exactly the endpoints that may see them: %s`,
        (_, names) => {
          for (const event of names) {
            const got = made(() =>
              world.emit({
                name: event,
                realm,
                companyNo: about === 'company' ? targets[realm].company : null,
                syndicateNo: about === 'syndicate' ? targets[realm].syndicate : null,
              }),
            );
            expect([event, ...got]).toEqual([event, ...expected(event, realm, about)]);
          }
        },
      );

      test(`events of a ${realm} ${about} reach many endpoints`, () => {
        const reached = routed.flatMap((event) => expected(event, realm, about));
        expect(reached.length).toBeGreaterThan(50);
      });
    }

    test(`EVT-05 EVT-06 installation.* of a ${realm} installation reaches only the app-wide endpoints of its application`, () => {
      const wide = (one: Installed) => (one.kind === 'user' ? `wide-${realm}` : `wide-${one.id}`);
      for (const one of installed.filter((it) => it.realm === realm)) {
        for (const name of ['installation.created', 'installation.revoked'] as const) {
          const got = made(() => world.emit({ name, realm, installationNo: one.no }));
          expect([name, ...got]).toEqual([name, `${wide(one)} ${one.id}`]);
        }
      }
    });
  }

  test('an event about one installation reaches only that installation', () => {
    const one = installed.find(
      (it) => it.kind === 'company' && it.here && it.scopes === scopeSets.everything,
    );
    if (one === undefined) throw new Error('the sandbox has no such record');
    const got = made(() =>
      world.emit({ name: 'investment_session.completed', realm: one.realm, installationNo: one.no }),
    );
    expect(got).toEqual(pairs([one], one.realm));
    expect(got).toHaveLength(2);
  });

  test('an endpoint that is unsubscribed, disabled, removed or of a disabled application gets no event', () => {
    const emit = () => world.emit({ name: 'offering.opened', companyNo: targets.live.company });
    const all = made(emit).length;
    const undo = [
      ["DELETE FROM webhook_subscriptions WHERE event = 'offering.opened' RETURNING 1", null],
      [
        'UPDATE webhook_endpoints SET enabled = 0 RETURNING 1',
        'UPDATE webhook_endpoints SET enabled = 1 RETURNING 1',
      ],
      [
        'UPDATE webhook_endpoints SET removed_at = 1 RETURNING 1',
        'UPDATE webhook_endpoints SET removed_at = NULL RETURNING 1',
      ],
      [
        "UPDATE applications SET status = 'disabled' RETURNING 1",
        "UPDATE applications SET status = 'active' RETURNING 1",
      ],
    ] as const;
    expect(all).toBeGreaterThan(0);
    for (const [change, back] of [...undo].reverse()) {
      world.rows(change);
      expect([change, made(emit)]).toEqual([change, []]);
      if (back === null) continue;
      world.rows(back);
      expect(made(emit)).toHaveLength(all);
    }
  });
});

describe('event payloads', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  test('EVT-02 each installation gets its own payload, limited by its scopes and kind', async () => {
    const other = await startWebhookPlatform();
    const owner = other.userToken(other.person('owner', 'owner'));
    const company = other.company('Acme');
    const person = other.person('founder');
    other.rows(
      `INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, 'founder') RETURNING 1`,
      company,
      person,
    );
    other.install({ on: 'company', targetNo: company, scopes: ['read:companies', 'read:investors:pii'] });
    const connected = other.install({ on: 'user', targetNo: person, scopes: ['write:companies'] });
    await createEndpoint(other, owner, receiver.url, ['investment.created']);
    other.emit({
      name: 'investment.created',
      companyNo: company,
      dataFor: ({ scopes, kind }) => ({
        kind,
        email: scopes.has('read:investors:pii') ? 'a@b.example' : undefined,
      }),
    });
    await other.quiet();
    const data = new Map(
      receiver.received.map((it) => [it.envelope.installation.target.type, it.envelope.data]),
    );
    expect(data.get('company')).toEqual({ kind: 'company', email: 'a@b.example' });
    expect(data.get('user')).toEqual({ kind: 'user' });
    const ofUser = receiver.received.find((it) => it.envelope.installation.id === connected.id);
    expect(ofUser?.envelope.installation.target.name).toBeNull();
    await other.close();
  });
});
