import { createHmac } from 'node:crypto';
import { systemClock } from '../../src/runtime/clock.js';
import type { Place } from './place.js';

const triesMax = 5;

/**
 * Sends a genuine delivery and returns its status, or null if every connection broke. It retries because a single
 * connection may be closed for its age just as it is reused, and the platform would retry as well.
 */
export async function deliver({ hook, sandbox, sends }: Place, eventId: string): Promise<number | null> {
  const [company] = sandbox.ready.companies;
  sends(eventId);
  const now = systemClock.now();
  const body = JSON.stringify({
    id: eventId,
    event: 'investment.changed',
    created_at: new Date(now).toISOString(),
    mode: 'test',
    installation: { id: company?.installation, target: null, test: false },
    data: { id: 'inv_unheardof', visible: true, company: company?.id, observed_at: null },
  });
  const t = Math.floor(now / 1000);
  const v1 = createHmac('sha256', hook.secret).update(`${t}.${body}`).digest('hex');
  for (let tries = 0; tries < triesMax; tries += 1) {
    const answer = await fetch(hook.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'Service-Signature': `t=${t},v1=${v1}` },
      body,
    }).catch(() => null);
    if (answer !== null) return answer.status;
  }
  return null;
}

export const hasRow = (place: Place, eventId: string): Promise<boolean> =>
  place.look(
    async (sight) =>
      (await sight.rows(`SELECT 1 AS one FROM webhook_inbox WHERE event_id = '${eventId}'`)).length > 0,
  );
