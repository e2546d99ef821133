import { parseId } from '../domain/ids.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import { nestsDeeper } from '../domain/json.js';
import type { EventSeen } from './ports.js';
import { redactBody } from './redact-body.js';

/** Real envelopes nest three or four levels. A deeper one might crash a parser that reads it later. */
const jsonDepthMax = 32;

const eventShape = /^[A-Za-z0-9_.-]{1,100}$/;
const installationShape = /^[A-Za-z0-9_-]{0,200}$/;
const testPrefix = 'evt_test_';

/** The event of a delivery and the body to store. Both come from one parse, so they cannot disagree. */
export interface ParsedDelivery {
  readonly event: EventSeen;
  readonly body: string;
}

/**
 * Parses the raw bytes of a delivery once. Returns undefined when they are not an event. A leading UTF-8 byte order
 * mark is ignored; the signature covers it.
 */
export function parseDelivery(raw: Uint8Array): ParsedDelivery | undefined {
  const envelope = parseJson(raw);
  const event = eventOf(envelope);
  return event === undefined ? undefined : { event, body: redactBody(envelope) };
}

/**
 * Reads only the fields named here, each as an own property, so a key called `__proto__` has no effect. Unknown event
 * names are accepted.
 */
function eventOf(envelope: unknown): EventSeen | undefined {
  const eventId = parseId('event', own(envelope, 'id'));
  const event = own(envelope, 'event');
  if (eventId === undefined || typeof event !== 'string' || !eventShape.test(event)) return undefined;
  const block = own(envelope, 'installation');
  const installation = own(block, 'id') ?? '';
  if (typeof installation !== 'string' || !installationShape.test(installation)) return undefined;
  const data = own(envelope, 'data');
  return {
    eventId,
    installation,
    event,
    company:
      parseId('company', own(data, 'company')) ?? parseId('company', own(own(block, 'target'), 'id')) ?? null,
    investment:
      parseId('investment', own(data, 'id')) ?? parseId('investment', own(data, 'investment')) ?? null,
    observedAt: observedAt(event, data),
    test: eventId.startsWith(testPrefix) || own(block, 'test') === true,
  };
}

/** Only published changes of investments appear in the feed; it never reaches the time of any other event. */
function observedAt(event: string, data: unknown): Instant | null {
  if (!event.startsWith('investment.')) return null;
  return parseInstant(own(data, 'observed_at')) ?? parseInstant(own(data, 'occurred_at')) ?? null;
}

function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}

function parseJson(body: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return nestsDeeper(text, jsonDepthMax) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
