import { open } from 'node:fs/promises';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf, parseInstant } from '../domain/instant.js';
import { writePrivateFile } from '../runtime/private-file.js';

/** What the daemon knows of the endpoint it looks after; its file holds this and nothing else does. */
export interface EndpointState {
  readonly id: string | null;
  /** Newest first. */
  readonly secrets: readonly ManagedSecret[];
  /** Written before a rotation is asked for and cleared with its answer: a lost answer leaves a secret nobody knows. */
  readonly rotationAskedAt: Instant | null;
  readonly health: EndpointHealth | null;
}

export interface ManagedSecret {
  readonly value: string;
  readonly since: Instant;
  /** When it stops signing; null while it is the newest. */
  readonly until: Instant | null;
}

/** How the endpoint did at the last look; no secret among it. */
export interface EndpointHealth {
  readonly checkedAt: Instant;
  /** `failing`: deliveries do not arrive. `blocked`: we could not look, or not mend. */
  readonly state: 'ok' | 'failing' | 'blocked';
  readonly failingSince: string | null;
  readonly lastDeliveryAt: string | null;
  readonly lastDeliveryStatus: string | null;
  /** When it was last found switched off, and switched on again. */
  readonly reenabledAt: Instant | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly hint: string | null;
}

export const unknownEndpoint: EndpointState = {
  id: null,
  secrets: [],
  rotationAskedAt: null,
  health: null,
};

/** What is left of the last look when another one was not possible. */
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
    ...{ code, message, hint: about.hint ?? null },
  };
}

/** An hour above the 24 the platform promises: the two clocks need not agree. */
const overlapMillis = 25 * 3_600_000;

/** The state with a new newest secret, as after create and rotate; the one before stays for its overlap. */
export function withSecret(state: EndpointState, id: string, value: string, now: number): EndpointState {
  const until = instantFromMillis(now + overlapMillis);
  const before = state.id === id ? liveSecrets(state, now) : [];
  return {
    ...state,
    id,
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
  await writePrivateFile(file, `${JSON.stringify(state, null, 2)}\n`);
}

/** Unknown when there is no file, or nothing usable in it: secrets can be made anew. Throws `usage` otherwise. */
export async function readEndpointState(file: string): Promise<EndpointState> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Fault('usage', `${file} cannot be opened (${error.code ?? 'unknown reason'})`, {
      hint: 'let the user of the daemon read and write it',
      cause: error,
    });
  });
  if (handle === undefined) return unknownEndpoint;
  try {
    const { mode } = await handle.stat();
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Fault('usage', `others on this machine can read ${file}`, { hint: `chmod 600 ${file}` });
    }
    return parsed(await handle.readFile('utf8'));
  } finally {
    await handle.close();
  }
}

function parsed(text: string): EndpointState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unknownEndpoint;
  }
  if (typeof value !== 'object' || value === null) return unknownEndpoint;
  const { id, secrets, rotationAskedAt, health } = value as Partial<Record<keyof EndpointState, unknown>>;
  const held = Array.isArray(secrets) ? secrets.flatMap(secretIn) : [];
  return {
    id: typeof id === 'string' && id !== '' ? id : null,
    secrets: held,
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
