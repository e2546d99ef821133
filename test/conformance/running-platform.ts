import { defined } from '../../src/domain/defined.js';
import type { Sandbox, SandboxOptions } from '../../src/platform/sandbox/sandbox.js';
import type { HeaderNames } from '../../src/wire/headers.js';
import { manualClock } from '../support/manual-clock.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { DeclaredAnswers } from './declared-responses.js';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed if it is JSON, otherwise the text. Typed `any` because tests assert its shape. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
  readonly body: any;
}

export interface Sending {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface RunningPlatform extends Sandbox {
  get(path: string, sending?: Sending): Promise<Answered>;
  post(path: string, sending?: Sending): Promise<Answered>;
  put(path: string, sending?: Sending): Promise<Answered>;
  patch(path: string, sending?: Sending): Promise<Answered>;
  delete(path: string, sending?: Sending): Promise<Answered>;
  send(method: string, path: string, sending?: Sending): Promise<Answered>;
  /** Calls the control API: `control('POST', '/churn', {changes: 5})`. */
  control(method: string, path: string, body?: unknown): Promise<Answered>;
  /**
   * Stops checking responses against the description, for tests that inject faults or fields of the future.
   */
  expectUndeclared(): void;
}

export const worldStart = Date.parse('2026-11-02T09:00:00.000Z');

const defaults = { seed: 1, companies: 2, records: 12 };

/**
 * Starts a platform whose clock stands at `worldStart` until a test moves `world.clock`. The first one with a plan in
 * this process seeds its world; the others start with a copy, which takes a tenth of the time. Tests of the seeding use
 * `startNewlySeeded`.
 */
export async function startPlatform(options: SandboxOptions = {}): Promise<RunningPlatform> {
  if (options.clock !== undefined || options.dataFile !== undefined || options.importFile !== undefined)
    return startNewlySeeded(options);
  const { seed, companies, records, installed } = { ...defaults, ...options };
  const plan = JSON.stringify([seed, companies, records, installed]);
  const image = images.get(plan);
  if (image !== undefined) return startNewlySeeded({ ...options, image });
  const first = await startNewlySeeded(options);
  images.set(plan, first.services.state.serialize());
  return first;
}

const images = new Map<string, Buffer>();

/** As `startPlatform`, but seeds the world of each platform. */
export async function startNewlySeeded(options: SandboxOptions = {}): Promise<RunningPlatform> {
  const sandbox = await startSeededSandbox({ ...defaults, clock: manualClock(worldStart), ...options });
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
    control: (method, path, body) => send(method, `/_sandbox${path}`, defined({ body })),
  };
}

const declaredByPrefix = new Map<string, DeclaredAnswers>();

/** The description is expensive to build and the same for every platform with one header prefix. */
function declaredFor(headers: HeaderNames): DeclaredAnswers {
  const key = JSON.stringify(headers);
  const held = declaredByPrefix.get(key) ?? new DeclaredAnswers(headers);
  declaredByPrefix.set(key, held);
  return held;
}

/**
 * Sends an object as JSON, URLSearchParams as a form and text as it is. Checks every response against the API's
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

/** Returns a company of the ready document (the first by default). Throws if it does not exist. */
export function company(world: Sandbox, index = 0) {
  const found = world.ready.companies[index];
  if (found === undefined) throw new Error(`the sandbox has no company ${index}`);
  return found;
}

export function user(world: Sandbox, index = 0) {
  const found = world.ready.users[index];
  if (found === undefined) throw new Error(`the sandbox has no user ${index}`);
  return found;
}
