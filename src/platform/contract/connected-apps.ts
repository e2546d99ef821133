import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { listMeta, timestamp } from './shapes.js';

export const listConnectedApps = operation({
  id: 'listConnectedApps',
  method: 'GET',
  path: paths.connectedApps,
  tag: 'Connected apps',
  summary: 'List the applications that act for the user; not paginated',
  scopes: ['read:profile'],
  callers: ['user'],
  responses: {
    200: {
      description: 'Every connected application.',
      schema: z.object({
        data: z.array(
          z
            .object({
              id: z.int(),
              type: z.literal('connected_app'),
              attributes: z.object({
                name: z.string(),
                scopes: z.array(z.string()),
                last_active_at: timestamp.nullable(),
                action_count: z.int(),
                created_at: timestamp,
              }),
            })
            .meta({ id: 'ConnectedApp' }),
        ),
        meta: z.object(listMeta),
      }),
    },
  },
  errors: [403],
});

export const revokeConnectedApp = operation({
  id: 'revokeConnectedApp',
  method: 'DELETE',
  path: paths.connectedApp,
  tag: 'Connected apps',
  summary: 'Disconnect an application and revoke its tokens for this user',
  scopes: ['write:profile'],
  callers: ['user'],
  responses: {
    200: {
      description: 'Disconnected.',
      schema: z.object({ data: z.object({ revoked: z.literal(true), tokens_revoked: z.int() }) }),
    },
  },
  errors: [403, 404],
});
