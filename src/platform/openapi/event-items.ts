import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { eventNames, eventScopes } from '../../wire/events.js';
import type { HeaderNames } from '../../wire/headers.js';
import { webhookEnvelopeSchema } from '../contract/webhooks.js';
import { exampleData } from '../webhooks/examples.js';

export const eventTag = 'Events';
const at = '2026-11-02T09:00:00.000Z';

/** Returns the webhooks section: one entry per event. */
export function eventItems(headers: HeaderNames): ZodOpenApiPathsObject {
  const items: ZodOpenApiPathsObject = {};
  for (const event of eventNames) {
    const scope = eventScopes[event];
    items[event] = {
      post: {
        operationId: `on.${event}`,
        tags: [eventTag],
        summary: event,
        description:
          scope === null
            ? 'Sent to app-wide endpoints of the application.'
            : `Sent to endpoints of installations with ${scope}.`,
        security: [],
        parameters: [{ $ref: '#/components/parameters/Signature' }],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: webhookEnvelopeSchema.and(z.object({ event: z.literal(event) })),
              example: {
                id: 'evt_example',
                event,
                created_at: at,
                mode: 'live',
                installation: {
                  id: 'inst_example',
                  target: { type: 'company', id: 'co_example', name: 'Example Company' },
                  test: false,
                },
                data: exampleData(event, Date.parse(at), false),
              },
            },
          },
        },
        responses: {
          '2XX': { description: 'Taken over.' },
          '4XX': { description: `Retried, like every status except 2xx. Verify ${headers.signature} first.` },
        },
      },
    };
  }
  return items;
}
