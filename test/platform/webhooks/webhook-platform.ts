import { selfServeScopes } from '../../../src/platform/contract/scopes.js';
import type { PlatformEvent } from '../../../src/platform/events.js';
import { type Hazards, noHazards } from '../../../src/platform/hazards.js';
import { createServices, listen } from '../../../src/platform/platform.js';
import type { PlatformOptions, Services } from '../../../src/platform/services.js';
import { digestOf, newSecret, type Realm } from '../../../src/platform/state/secrets.js';
import { all, one, run } from '../../../src/platform/state/statements.js';
import { type WebhookSettings, webhooks } from '../../../src/platform/webhooks/webhooks.js';
import { type Clock, systemClock } from '../../../src/runtime/clock.js';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { type ManualClock, manualClock } from '../../support/manual-clock.js';
import { emptyState } from '../../support/seeded-sandbox.js';

export const worldStart = Date.parse('2026-11-02T09:00:00.000Z');
export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
  readonly body: any;
}

export interface InstallationSeed {
  readonly realm?: Realm;
  readonly on: 'company' | 'syndicate' | 'user';
  readonly targetNo: number;
  readonly tier?: string;
  readonly scopes?: readonly string[];
  readonly application?: number;
}

export interface WebhookPlatform {
  readonly services: Services;
  readonly clock: ManualClock;
  readonly url: string;
  readonly app: number;
  send(method: string, path: string, token: string, body?: unknown): Promise<Answered>;
  control(method: string, path: string, body?: unknown): Promise<Answered>;
  /** Creates a user, optionally with a role in the application's organization. Returns the row number. */
  person(name: string, role?: 'owner' | 'admin' | 'developer' | 'viewer'): number;
  userToken(userNo: number, realm?: Realm, scopes?: readonly string[]): string;
  company(name: string, realm?: Realm): number;
  syndicate(name: string, realm?: Realm): number;
  install(seed: InstallationSeed): { readonly no: number; readonly id: string; readonly token: string };
  /** Creates an application of another organization. */
  otherApplication(): number;
  emit(event: Partial<PlatformEvent> & Pick<PlatformEvent, 'name'>): void;
  rows<Row>(sql: string, ...values: readonly (string | number | null)[]): Row[];
  /** Resolves when no delivery is due and every attempt has been recorded. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export interface WebhookPlatformSettings extends WebhookSettings {
  readonly options?: Partial<PlatformOptions>;
  readonly hazards?: Hazards;
  readonly dataFile?: string;
  readonly clock?: ManualClock;
  /** False: the feature serves requests but sends nothing, as if the loop were stopped. */
  readonly started?: boolean;
}

/** Starts a platform with only the webhook feature, in both realms. */
export async function startWebhookPlatform(settings: WebhookPlatformSettings = {}): Promise<WebhookPlatform> {
  const clock = settings.clock ?? manualClock(worldStart);
  const { options, hazards = noHazards, dataFile, clock: _, started, ...webhookSettings } = settings;
  const services = createServices({
    clock,
    random: seededRandom(7),
    hazards,
    ...(dataFile === undefined ? { image: emptyState() } : { dataFile }),
    options: { loopbackWebhooks: 'everyone', ...options },
  });
  const { state } = services;
  const parts = new Lifecycle();
  parts.add('state', () => {
    state.close();
  });
  const feature = webhooks(services, {
    wall: patientClock,
    resolve: async () => [publicAddress],
    ...webhookSettings,
  });
  if (started !== false) {
    const running = feature.start();
    parts.add('deliveries', () => running.close());
  }
  const server = await listen(services, [...feature.routes, ...feature.sandboxRoutes], [], {
    host: '127.0.0.1',
    port: 0,
  });
  parts.add('server', () => server.close());

  let serial = all<{ n: number }>(state, 'SELECT count(*) AS n FROM users')[0]?.n ?? 0;
  const id = (prefix: string) =>
    `${prefix}${String(++serial).padStart(4, '0')}x${services.random.bytes(4).toString('hex')}`;
  const application = (organization: number) =>
    run(
      state,
      `INSERT INTO applications (id, organization_no, name, scopes, approved_at, pinned_version, created_at)
       VALUES (?, ?, 'Mirror', ?, 0, '2026-10-15', 0)`,
      [id('app_'), organization, JSON.stringify(selfServeScopes)],
    ).no;
  const organization = () =>
    run(state, `INSERT INTO organizations (id, name) VALUES (?, 'Org')`, [id('org_')]).no;
  const existing = one<{ no: number; organization_no: number }>(
    state,
    'SELECT no, organization_no FROM applications ORDER BY no LIMIT 1',
  );
  const orgNo = existing?.organization_no ?? organization();
  const app = existing?.no ?? application(orgNo);

  const mint = (
    kind: 'user' | 'installation',
    realm: Realm,
    owner: { readonly application: number; readonly user?: number; readonly installation?: number },
    scopes: readonly string[],
  ) => {
    const token = newSecret(services.random, `at_${realm}_`);
    run(
      state,
      `INSERT INTO access_tokens (digest, realm, kind, application_no, user_no, installation_no, scopes, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
      [
        digestOf(token),
        realm,
        kind,
        owner.application,
        owner.user ?? null,
        owner.installation ?? null,
        scopes.join(' '),
      ],
    );
    return token;
  };

  const request = async (method: string, path: string, token: string | null, body?: unknown) => {
    const response = await fetch(new URL(path, server.url), {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : JSON.parse(text),
    };
  };

  return {
    services,
    clock,
    url: server.url,
    app,
    send: (method, path, token, body) => request(method, path, token, body),
    control: (method, path, body) => request(method, `/_sandbox${path}`, null, body),
    person(name, role) {
      const no = run(
        state,
        `INSERT INTO users (id, email, username, name, legal_name, created_at) VALUES (?, ?, ?, ?, ?, 0)`,
        [id('usr_'), `${name}${serial}@people.example`, `${name}${serial}`, name, name],
      ).no;
      if (role !== undefined) {
        run(state, 'INSERT INTO organization_members (organization_no, user_no, role) VALUES (?, ?, ?)', [
          orgNo,
          no,
          role,
        ]);
      }
      return no;
    },
    userToken: (user, realm = 'live', scopes = ['write:webhooks']) =>
      mint('user', realm, { application: app, user }, scopes),
    company: (name, realm = 'live') =>
      run(state, `INSERT INTO companies (id, realm, name, slug, created_at) VALUES (?, ?, ?, ?, 0)`, [
        id('co_'),
        realm,
        name,
        id('slug'),
      ]).no,
    syndicate: (name, realm = 'live') =>
      run(
        state,
        `INSERT INTO syndicates (id, realm, name, slug, created_by_no, created_at)
         VALUES (?, ?, ?, ?, (SELECT min(no) FROM users), 0)`,
        [id('syn_'), realm, name, id('slug')],
      ).no,
    install({ realm = 'live', on, targetNo, tier, scopes = selfServeScopes, application: of = app }) {
      const external = id('inst_');
      const { no } = run(
        state,
        `INSERT INTO installations (id, application_no, realm, ${on}_no, tier, scopes, installed_at)
         VALUES (?, ?, ?, ?, ?, ?, 0)`,
        [
          external,
          of,
          realm,
          targetNo,
          tier ?? (on === 'company' ? 'founder' : 'full_access'),
          scopes.join(' '),
        ],
      );
      const owner = { application: of, installation: no };
      return { no, id: external, token: mint('installation', realm, owner, scopes) };
    },
    otherApplication: () => application(organization()),
    emit(event) {
      state.transaction(() => {
        services.events.emit({
          realm: 'live',
          at: clock.now(),
          companyNo: null,
          syndicateNo: null,
          installationNo: null,
          dataFor: () => ({ id: 'inv_1', visible: true }),
          ...event,
        });
      })();
    },
    rows: <Row>(sql: string, ...values: readonly (string | number | null)[]) => all<Row>(state, sql, values),
    async quiet() {
      const due = `SELECT 1 FROM webhook_deliveries WHERE state = 'pending' AND next_at <= ? LIMIT 1`;
      // For what hangs: a busy machine may take many times as long as usual.
      const deadline = performance.now() + 120_000;
      while (all(state, due, [clock.now()]).length > 0) {
        if (performance.now() > deadline) throw new Error('deliveries are still due');
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    close: () => parts.close(),
  };
}

/** Real time, on which no attempt times out: a busy machine may need longer than a receiver has. */
const patientClock: Clock = {
  ...systemClock,
  wait: (_, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) resolve();
      else signal?.addEventListener('abort', () => resolve(), { once: true });
    }),
};

export const publicAddress = { address: '93.184.216.34', family: 4 } as const;

export interface DeliveryRow {
  readonly id: string;
  readonly state: string;
  readonly failures: number;
  readonly next_at: number | null;
  readonly event_id: string;
  readonly body: string;
}

/** Creates an endpoint through the API. Throws unless it was created. */
export async function createEndpoint(
  world: WebhookPlatform,
  token: string,
  url: string,
  events: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const answered = await world.send('POST', '/webhook_endpoints', token, { url, events, ...more });
  if (answered.status !== 201) throw new Error(`create answered ${JSON.stringify(answered.body)}`);
  return { id: answered.body.data.id, secret: answered.body.data.attributes.secret };
}
