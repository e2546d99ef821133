import { z } from 'zod';
import type { SchemaNode } from './schema-tree.js';
import { settingsSchema } from './settings.js';

/** Returns the JSON Schema (2020-12) of the configuration file. */
export function configJsonSchema(): SchemaNode {
  return z.toJSONSchema(settingsSchema, {
    io: 'input',
    target: 'draft-2020-12',
    // A key that must be missing is no key in JSON Schema.
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type !== 'object' || jsonSchema.properties === undefined) return;
      for (const [key, value] of Object.entries((def as z.core.$ZodObjectDef).shape))
        if (value instanceof z.ZodOptional && value.def.innerType instanceof z.ZodUndefined)
          delete jsonSchema.properties[key];
    },
  }) as SchemaNode;
}
