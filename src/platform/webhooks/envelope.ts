import type { EventName } from '../../wire/events.js';
import type { WebhookEnvelope } from '../contract/webhooks.js';
import { iso } from '../http/timestamps.js';
import type { Realm } from '../state/secrets.js';
import type { Recipient } from './audience.js';

interface About {
  readonly id: string;
  readonly event: EventName;
  readonly at: number;
  readonly mode: Realm;
}

/** Builds the payload. Its text is created once and stored; the key order is chosen for readable logs. */
export function envelope(
  about: About,
  installation: WebhookEnvelope['installation'],
  data: unknown,
): WebhookEnvelope {
  return {
    id: about.id,
    event: about.event,
    created_at: iso(about.at),
    mode: about.mode,
    installation,
    data: data as WebhookEnvelope['data'],
  };
}

export const installationBlock = (recipient: Recipient, test: boolean): WebhookEnvelope['installation'] => ({
  id: recipient.id,
  target: recipient.target,
  test,
});

/** The installation in a test send to an app-wide endpoint, which has none. */
export const syntheticInstallation: WebhookEnvelope['installation'] = {
  id: 'inst_example',
  target: null,
  test: true,
};
