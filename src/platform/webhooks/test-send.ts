import type { EventName } from '../../wire/events.js';
import type { WebhookEnvelope } from '../contract/webhooks.js';
import type { AppRow } from '../http/caller.js';
import { Problem } from '../http/problem.js';
import { expandScopes } from '../http/scopes.js';
import { spendFrom } from '../http/steps/spend.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { one } from '../state/statements.js';
import { post, type Wire } from './attempt.js';
import { recipientByNo } from './audience.js';
import { type Endpoint, subscribedEvents } from './endpoints.js';
import { envelope, installationBlock, syntheticInstallation } from './envelope.js';
import { exampleData } from './examples.js';
import { isSuccess, type Outcome } from './send.js';

export interface TestResult {
  readonly event: EventName;
  readonly payload: WebhookEnvelope;
  readonly outcome: Outcome;
}

/** Sends an example event like a delivery, without recording it in the health or history of the endpoint. */
export async function sendTest(
  services: Services,
  wire: Wire,
  app: AppRow,
  endpoint: Endpoint,
  asked: string | undefined,
  now: number,
  signal: AbortSignal,
): Promise<TestResult> {
  const event = chosenEvent(services, endpoint, asked);
  spendFrom(services, 'webhookTest', endpoint.id, now);
  const installation =
    endpoint.installation_no === null
      ? syntheticInstallation
      : installationBlock(recipientByNo(services.state, app.no, endpoint.installation_no), true);
  const payload = envelope(
    { id: newId(services.random, 'evt_test_'), event, at: now, mode: endpoint.mode },
    installation,
    exampleData(event, now, holdsIdentity(services, app)),
  );
  const outcome = await post(services, wire, endpoint, JSON.stringify(payload), signal);
  if (outcome === null) throw new Error('the server stopped during a test send');
  return { event, payload, outcome };
}

function chosenEvent(services: Services, endpoint: Endpoint, asked: string | undefined): EventName {
  const subscribed = subscribedEvents(services.state, endpoint.no);
  const event = asked === undefined ? subscribed[0] : subscribed.find((name) => name === asked);
  if (event !== undefined) return event;
  const message = 'The endpoint is not subscribed to that event.';
  throw new Problem(422, 'validation_error', message, {
    details: { errors: [{ field: 'event', code: 'not_subscribed', message }] },
    remediation: 'Choose one of the endpoint\'s events, or leave "event" out to send the first.',
  });
}

function holdsIdentity(services: Services, app: AppRow): boolean {
  const row = one<{ scopes: string }>(services.state, 'SELECT scopes FROM applications WHERE no = ?', [
    app.no,
  ]);
  const scopes = JSON.parse(row?.scopes ?? '[]') as readonly string[];
  return expandScopes(scopes).has('read:investors:pii');
}

export const wasDelivered = (result: TestResult): boolean => isSuccess(result.outcome);
