import { newId } from '../../src/platform/state/secrets.js';
import { all, run } from '../../src/platform/state/statements.js';
import { insertEndpoint } from '../../src/platform/webhooks/endpoints.js';
import { eventNames } from '../../src/wire/events.js';
import { makeClient } from './credentials.js';
import type { RunningPlatform } from './running-platform.js';

export interface SubscribedEndpoint {
  readonly installationNo: number;
  /** The events this endpoint has deliveries of, in order. */
  delivered(): string[];
  bodies(): unknown[];
}

export interface EndpointWish {
  readonly syndicateNo?: number;
  readonly companyNo?: number;
  readonly userNo?: number;
  readonly scopes: readonly string[];
}

/** A new application, installed as requested, with an endpoint subscribed to every event. */
export function createEndpointFor(world: RunningPlatform, wish: EndpointWish): SubscribedEndpoint {
  const { services } = world;
  const { state, random } = services;
  const now = services.clock.now();
  const client = makeClient(world);
  const { no: installationNo } = run(
    state,
    `INSERT INTO installations (id, application_no, realm, company_no, syndicate_no, user_no, tier, scopes, installed_at)
     VALUES (?, ?, 'test', ?, ?, ?, 'full_access', ?, ?)`,
    [
      newId(random, 'inst_'),
      client.applicationNo,
      wish.companyNo ?? null,
      wish.syndicateNo ?? null,
      wish.userNo ?? null,
      wish.scopes.join(' '),
      now,
    ],
  );
  insertEndpoint(
    state,
    random,
    {
      applicationNo: client.applicationNo,
      installationNo: null,
      mode: 'test',
      // No server listens there: the tests check which deliveries exist.
      url: 'http://127.0.0.1:9/hook',
      events: [...eventNames],
    },
    now,
  );
  const bodies = () =>
    all<{ body: string }>(
      state,
      'SELECT body FROM webhook_deliveries WHERE installation_no = ? ORDER BY rowid',
      [installationNo],
    ).map((row) => JSON.parse(row.body) as { event: string; data: unknown });
  return { installationNo, bodies, delivered: () => bodies().map((body) => body.event) };
}
