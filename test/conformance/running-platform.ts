import type { Sandbox, SandboxOptions } from '../../src/platform/sandbox/sandbox.js';
import type { HeaderNames } from '../../src/wire/headers.js';
import { stillClock } from '../platform/still-clock.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { DeclaredAnswers } from './declared-responses.js';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed when it is JSON, otherwise the text. Tests look into it freely; that is what they assert. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
  readonly body: any;
}

export interface Sending {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface TestWorld extends Sandbox {
  get(path: string, sending?: Sending): Promise<Answered>;
  post(path: string, sending?: Sending): Promise<Answered>;
  put(path: string, sending?: Sending): Promise<Answered>;
  patch(path: string, sending?: Sending): Promise<Answered>;
  delete(path: string, sending?: Sending): Promise<Answered>;
  send(method: string, path: string, sending?: Sending): Promise<Answered>;
  /** A call of the control API: `control('POST', '/churn', {changes: 5})`. */
  control(method: string, path: string, body?: unknown): Promise<Answered>;
  /** From here on the answers carry what the test put there (faults, fields of the future): they are not checked. */
  expectUndeclared(): void;
}

export const worldStart = Date.parse('2026-11-02T09:00:00.000Z');

/** A listening platform in which time stands at `worldStart` until a test moves `world.clock`. */
export async function startWorld(options: SandboxOptions = {}): Promise<TestWorld> {
  const sandbox = await startSeededSandbox({
    seed: 1,
    companies: 2,
    records: 12,
    clock: stillClock(worldStart),
    ...options,
  });
  let declared: DeclaredAnswers | null = declaredFor(sandbox.services.options.headers);
  const send = (method: string, path: string, sending: Sending = {}) =>
    request(sandbox.url, method, path, sending, declared);
  return {
    ...sandbox,
    send,
    get: (path, sending) => send('GET', path, sending),
    post: (path, sending) => send('POST', path, sending),
    put: (path, sending) => send('PUT', path, sending),
    patch: (path, sending) => send('PATCH', path, sending),
    delete: (path, sending) => send('DELETE', path, sending),
    expectUndeclared: () => {
      declared = null;
    },
    control: (method, path, body) => send(method, `/_sandbox${path}`, body === undefined ? {} : { body }),
  };
}

const declaredByPrefix = new Map<string, DeclaredAnswers>();

/** The description costs more to make than a world, and is the same for every world of one header prefix. */
function declaredFor(headers: HeaderNames): DeclaredAnswers {
  const key = JSON.stringify(headers);
  const held = declaredByPrefix.get(key) ?? new DeclaredAnswers(headers);
  declaredByPrefix.set(key, held);
  return held;
}

/**
 * An object is sent as JSON, URLSearchParams as a form, text as it is. Every answer is held against the API's own
 * description.
 */
async function request(
  base: string,
  method: string,
  path: string,
  sending: Sending,
  declared: DeclaredAnswers | null,
): Promise<Answered> {
  const { token, headers = {}, body } = sending;
  const raw = body === undefined || typeof body === 'string' || body instanceof URLSearchParams;
  const response = await fetch(new URL(path, base), {
    method,
    redirect: 'manual',
    headers: {
      ...(raw ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const { status, headers: answered } = response;
  declared?.check({ method, path, status, headers: answered, text });
  const json = response.headers.get('content-type')?.includes('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    body: json && text !== '' ? JSON.parse(text) : text,
  };
}

/** The token of the ready document's first (or other) company, and the like; throws instead of being undefined. */
export function company(world: Sandbox, index = 0) {
  const found = world.ready.companies[index];
  if (found === undefined) throw new Error(`the world has no company ${index}`);
  return found;
}

export function user(world: Sandbox, index = 0) {
  const found = world.ready.users[index];
  if (found === undefined) throw new Error(`the world has no user ${index}`);
  return found;
}
