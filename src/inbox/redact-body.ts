/**
 * Fields stored from an event. They identify no person; lifecycle events carry the investor's name and email in others.
 */
const envelopeKeys = ['id', 'event', 'created_at', 'api_version'] as const;
const dataKeys = [
  'id',
  'investment',
  'company',
  'offering',
  'visible',
  'status',
  'reason',
  'first',
  'fields',
  'observed_at',
  'occurred_at',
  'canceled_at',
  'converted_to',
] as const;

/**
 * Returns the body to store until the event is worked: enough to see what was announced, without personal data that
 * would have to be erased later. Takes the parsed envelope, because a second parse could read the bytes differently.
 */
export function redactBody(parsed: unknown): string {
  const envelope = own(parsed);
  const redacted = { ...picked(envelope, envelopeKeys), data: picked(own(envelope.data), dataKeys) };
  return JSON.stringify(redacted);
}

type Wire = Readonly<Record<string, unknown>>;

const own = (value: unknown): Wire =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : {};

/** Nested values could hold anything. Lists of strings, such as names of fields, are kept. */
function picked(from: Wire, keys: readonly string[]): Wire {
  return Object.fromEntries(
    keys.flatMap((key) => (Object.hasOwn(from, key) && isPlain(from[key]) ? [[key, from[key]]] : [])),
  );
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value !== 'object' || value === null;
}
