import { open } from 'node:fs/promises';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf, parseInstant } from '../domain/instant.js';
import { shellWord } from '../domain/shell-word.js';
import { refuseNewerFormat, writePrivateFile } from '../runtime/private-file.js';

/** The state of the endpoint that the daemon manages. It is stored only in the endpoint's file or vault entry. */
export interface EndpointState {
  readonly id: string | null;
  /** The address that this endpoint was last given; null when an earlier version did it. */
  readonly url: string | null;
  /** Newest first. */
  readonly secrets: readonly ManagedSecret[];
  /** Set before a rotation is requested and cleared by its response: after a lost response the secret is unknown. */
  readonly rotationAskedAt: Instant | null;
  readonly health: EndpointHealth | null;
}

export interface ManagedSecret {
  readonly value: string;
  readonly since: Instant;
  /** When it expires; null for the newest secret. */
  readonly until: Instant | null;
}

/** The result of the last check; contains no secret. */
export interface EndpointHealth {
  readonly checkedAt: Instant;
  /** `failing`: deliveries do not arrive. `blocked`: the daemon could not check or repair the endpoint. */
  readonly state: 'ok' | 'failing' | 'blocked';
  readonly failingSince: string | null;
  readonly lastDeliveryAt: string | null;
  readonly lastDeliveryStatus: string | null;
  /** When it was last found disabled and enabled again. */
  readonly reenabledAt: Instant | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly hint: string | null;
}

export const unknownEndpoint: EndpointState = {
  id: null,
  url: null,
  secrets: [],
  rotationAskedAt: null,
  health: null,
};

/** Returns the health after a failed check, with the facts of the last successful one. */
export function blockedHealth(
  before: EndpointHealth | null,
  { code, message, about }: Fault,
  now: number,
): EndpointHealth {
  return {
    checkedAt: instantFromMillis(now),
    state: 'blocked',
    failingSince: before?.failingSince ?? null,
    lastDeliveryAt: before?.lastDeliveryAt ?? null,
    lastDeliveryStatus: before?.lastDeliveryStatus ?? null,
    reenabledAt: before?.reenabledAt ?? null,
    code,
    message,
    hint: about.hint ?? null,
  };
}

/** One hour more than the 24 that the platform promises, to allow for clock skew. */
const overlapMillis = 25 * 3_600_000;

/** Returns the state with a new secret, after create or rotate. The previous secret stays valid for the overlap. */
export function withSecret(state: EndpointState, id: string, value: string, now: number): EndpointState {
  const until = instantFromMillis(now + overlapMillis);
  const before = state.id === id ? liveSecrets(state, now) : [];
  return {
    ...state,
    id,
    url: state.id === id ? state.url : null,
    rotationAskedAt: null,
    secrets: [
      { value, since: instantFromMillis(now), until: null },
      ...before.map((secret) => ({ ...secret, until: secret.until ?? until })),
    ],
  };
}

export function liveSecrets(state: EndpointState, now: number): readonly ManagedSecret[] {
  return state.secrets.filter(({ until }) => until === null || millisOf(until) > now);
}

export async function writeEndpointState(file: string, state: EndpointState): Promise<void> {
  await writePrivateFile(file, endpointStateText(state));
}

export const endpointStateText = (state: EndpointState): string => `${JSON.stringify(state, null, 2)}\n`;

/**
 * Reads the state. Returns `unknownEndpoint` when the file does not exist or its content is unusable: a rotation then
 * creates a new secret. Throws `usage` when the file cannot be opened or others can read it.
 */
export async function readEndpointState(file: string): Promise<EndpointState> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Fault('usage', `${file} cannot be opened (${error.code ?? 'unknown reason'})`, {
      hint: 'give the user of the daemon read and write permission',
      cause: error,
    });
  });
  if (handle === undefined) return unknownEndpoint;
  try {
    const { mode } = await handle.stat();
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Fault('usage', `others on this machine can read ${file}`, {
        hint: `chmod 600 ${shellWord(file)}`,
      });
    }
    return parseEndpointState(await handle.readFile('utf8'));
  } finally {
    await handle.close();
  }
}

/** Returns `unknownEndpoint` for an unusable text. Throws `usage` when a later version of rosterd wrote it. */
export function parseEndpointState(text: string): EndpointState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unknownEndpoint;
  }
  if (typeof value !== 'object' || value === null) return unknownEndpoint;
  refuseNewerFormat('the state of the webhook endpoint', value as Readonly<Record<string, unknown>>);
  const { id, url, secrets, rotationAskedAt, health } = value as Partial<
    Record<keyof EndpointState, unknown>
  >;
  const usable = Array.isArray(secrets) ? secrets.flatMap(secretIn) : [];
  return {
    id: typeof id === 'string' && id !== '' ? id : null,
    url: typeof url === 'string' && url !== '' ? url : null,
    secrets: usable,
    rotationAskedAt: parseInstant(rotationAskedAt) ?? null,
    health: typeof health === 'object' ? (health as EndpointHealth | null) : null,
  };
}

function secretIn(value: unknown): readonly ManagedSecret[] {
  const { value: secret, since, until } = Object(value) as Partial<Record<keyof ManagedSecret, unknown>>;
  const from = parseInstant(since);
  if (typeof secret !== 'string' || secret === '' || from === undefined) return [];
  return [{ value: secret, since: from, until: parseInstant(until) ?? null }];
}
