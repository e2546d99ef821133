/** What an event may say without naming anybody. Lifecycle events carry the investor's name and email beside it. */
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
 * Returns the body to store until the event is worked: enough to see what was announced, and no personal data that
 * would have to be erased later. Takes the parsed envelope: parsing the bytes again could read them differently.
 */
export function thinBody(parsed: unknown): string {
  const envelope = own(parsed);
  const thin = { ...picked(envelope, envelopeKeys), data: picked(own(envelope.data), dataKeys) };
  return JSON.stringify(thin);
}

type Wire = Readonly<Record<string, unknown>>;

const own = (value: unknown): Wire =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : {};

/** Values that nest could hold anything; lists of plain text, such as names of fields, may stay. */
function picked(from: Wire, keys: readonly string[]): Wire {
  return Object.fromEntries(
    keys.flatMap((key) => (Object.hasOwn(from, key) && isPlain(from[key]) ? [[key, from[key]]] : [])),
  );
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value !== 'object' || value === null;
}
