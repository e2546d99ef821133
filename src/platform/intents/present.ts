import type { IntentResource } from '../contract/intents.js';
import { baseUrl } from '../http/base-url.js';
import type { Exchange } from '../http/exchange.js';
import { iso, isoOrNull } from '../http/timestamps.js';
import type { Intent } from './model.js';

export const reviewUrl = (exchange: Exchange, intent: Intent): string =>
  `${baseUrl(exchange)}/review/${intent.token}`;

export function presentIntent(exchange: Exchange, intent: Intent): IntentResource {
  return {
    id: intent.id,
    type: 'intent',
    attributes: {
      action: intent.action,
      status: intent.status,
      resource_type: intent.resource_type,
      resource_id: intent.resource_id,
      impact_summary: intent.impact_summary,
      review_url: reviewUrl(exchange, intent),
      requested_by_agent: intent.requested_by_agent,
      expires_at: iso(intent.expires_at),
      approved_at: isoOrNull(intent.approved_at),
      executed_at: isoOrNull(intent.executed_at),
      rejection_reason: intent.rejection_reason,
      execution_result:
        intent.execution_result === null
          ? null
          : (JSON.parse(intent.execution_result) as Record<string, unknown>),
      failure_reason: intent.failure_reason,
      created_at: iso(intent.created_at),
      updated_at: iso(intent.updated_at),
    },
  };
}
