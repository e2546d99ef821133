import { z } from 'zod';
import type { SchemaNode } from './schema-tree.js';
import { settingsSchema } from './settings.js';

/** Returns the JSON Schema (2020-12) of the configuration file. */
export function configJsonSchema(): SchemaNode {
  return z.toJSONSchema(settingsSchema, { io: 'input', target: 'draft-2020-12' }) as SchemaNode;
}
