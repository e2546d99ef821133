import { exampleData } from '../../src/platform/webhooks/examples.js';
import type { EventName } from '../../src/wire/events.js';

/** Returns the value with each leaf replaced by its type, and each timestamp by its form. */
export function shapeOf(value: unknown): unknown {
  if (value === null) return null;
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return value.replace(/\d/g, '0');
  return typeof value;
}

/** Returns the shape of the data that a test send of the event carries. */
export const exampleShape = (event: EventName, withIdentity = true): unknown =>
  shapeOf(exampleData(event, 0, withIdentity));
