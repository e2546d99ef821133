import { commentAction } from '../../../src/platform/intents/comment-action.js';
import { dealActions } from '../../../src/platform/intents/deal-actions.js';
import { syndicateActions } from '../../../src/platform/intents/syndicate-actions.js';
import type { ApiDocument } from '../../../src/platform/openapi/document.js';
import { resolve } from '../schema-check.js';
import type { Chance } from './chance.js';
import { hostileValues } from './hostile.js';
import type { Known } from './known.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema as it stands in the document
export type Schema = any;

export interface Making {
  readonly document: ApiDocument;
  readonly chance: Chance;
  readonly known: Known;
  /** The share of values replaced by a hostile one, at every level. */
  readonly hostile: number;
}

/** The actions of intents, and one unknown action. */
const actions = [
  ...[commentAction, ...syndicateActions, ...dealActions].map(({ name }) => name),
  'nothing.known',
];

/** Deep enough for every body; a recursive schema ends here. */
const depthMax = 6;

/** Returns a value that mostly fits the schema. `name` is the field it is for and selects the kind of id. */
export function madeOf(making: Making, schema: Schema, name = '', depth = 0): unknown {
  const { chance, document } = making;
  if (chance.happens(making.hostile)) return chance.pick(hostileValues);
  if (schema.$ref !== undefined) return madeOf(making, resolve(document, schema.$ref), name, depth);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return madeOf(making, chance.pick(choices), name, depth + 1);
  if (schema.allOf !== undefined) {
    const parts = schema.allOf.map((part: Schema) => madeOf(making, part, name, depth + 1)) as object[];
    return Object.assign({}, ...parts);
  }
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return chance.pick(schema.enum);
  const type = Array.isArray(schema.type) ? chance.pick(schema.type as string[]) : schema.type;
  switch (type) {
    case 'object':
      return objectOf(making, schema, depth);
    case 'array':
      return depth > depthMax
        ? []
        : Array.from({ length: chance.whole(schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)) }, () =>
            madeOf(making, schema.items ?? {}, name, depth + 1),
          );
    case 'integer':
      return chance.pick([schema.minimum ?? 0, 1, 2, 25, 101, 100_000, schema.maximum ?? 250_000]);
    case 'number':
      return chance.pick([schema.minimum ?? 0, 0.1, 1, 1000.005]);
    case 'boolean':
      return chance.happens(0.5);
    case 'null':
      return null;
    default:
      return textOf(making, schema, name);
  }
}

function objectOf(making: Making, schema: Schema, depth: number): Record<string, unknown> {
  const { chance } = making;
  const required = new Set<string>(schema.required ?? []);
  const value: Record<string, unknown> = {};
  for (const [name, held] of Object.entries(schema.properties ?? {})) {
    const wanted = required.has(name) ? 0.97 : depth > depthMax ? 0 : 0.5;
    if (chance.happens(wanted)) value[name] = madeOf(making, held, name, depth + 1);
  }
  if (chance.happens(0.03)) value.never_heard_of = chance.pick(hostileValues);
  return value;
}

function textOf({ chance, known }: Making, schema: Schema, name: string): string {
  if (name === 'cursor') return known.cursor(chance) ?? 'c_unknown';
  if (
    /(?:^|_)(?:id|ids|target|installation|company|offering|syndicate|user)$/.test(name) &&
    chance.happens(0.9)
  ) {
    return known.id(chance, name);
  }
  if (name === 'action') return chance.pick(actions);
  if (schema.format === 'date-time' || /(?:since|until|before|after|_at|_date)$/.test(name)) {
    return chance.pick([
      '2026-11-01T00:00:00Z',
      '2026-11-02',
      '2025-01-01T00:00:00+02:00',
      '2026-11-02T09:00:00.000Z',
    ]);
  }
  if (/email/.test(name))
    return chance.pick(['ida@people.example', 'new@mail.example', 'founder1@people.example']);
  if (/url|uri/.test(name))
    return chance.pick(['https://partner.example/hook', 'http://127.0.0.1:9/', 'ftp://x']);
  if (/per_page|limit/.test(name)) return chance.pick(['1', '2', '25', '0', '-3', '1000']);
  if (/events?$/.test(name))
    return chance.pick(['investment.changed', 'offering.opened', 'installation.revoked']);
  if (/scopes?$/.test(name)) return chance.pick(['read:investments', 'write:webhooks', 'read:companies']);
  return chance.pick([
    'text',
    'true',
    '1',
    'ida',
    'company',
    'test',
    known.id(chance, ''),
    'A longer text, with words.',
  ]);
}
