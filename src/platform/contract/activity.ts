import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { cursorText, idText, listMeta, perPageText, timestamp } from './shapes.js';
import { auditStatuses } from './vocabulary.js';

const text = z.string().nullable();
const values = z.record(z.string(), z.json()).nullable();

const auditEvent = z
  .object({
    id: z.uuid(),
    type: z.literal('audit_event'),
    attributes: z.object({
      occurred_at: timestamp,
      actor_type: z.string(),
      actor_name: text,
      action: z.string(),
      resource_type: z.string(),
      resource_id: z.string(),
      resource_label: text,
      old_values: values,
      new_values: values,
      changed_fields: z.array(z.string()),
      status: z.enum(auditStatuses),
      error_message: text,
      intent_id: text.meta({ deprecated: true }),
      intent: text,
      created_at: timestamp,
    }),
  })
  .meta({ id: 'AuditEvent' });

export const listActivity = operation({
  id: 'listActivity',
  method: 'GET',
  path: paths.activity,
  tag: 'Activity',
  summary: 'List what applications did on behalf of the user, newest first',
  scopes: ['read:profile'],
  callers: ['user'],
  removedIn: '2026-10-15',
  deprecated: true,
  query: z.object({
    app_id: z
      .string()
      .regex(/^\d{1,15}$/, 'an integer')
      .meta({ sentAs: 'integer' })
      .optional(),
    action_pattern: z
      .string()
      .max(100)
      .optional()
      .describe('Glob pattern: companies.* matches every action on companies.'),
    resource_type: idText.optional().describe('Requires resource_id.'),
    resource_id: idText.optional(),
    status: z.enum(auditStatuses).optional(),
    since: z.string().max(60).optional(),
    until: z.string().max(60).optional(),
    cursor: cursorText.optional(),
    per_page: perPageText.optional(),
  }),
  responses: {
    200: {
      description: 'A page of audit events.',
      schema: z.object({ data: z.array(auditEvent), meta: z.object(listMeta) }),
    },
  },
  errors: [400, 403, 404],
});
