import { Fault } from '../domain/fault.js';
import { type DirectAnswer, type DirectInit, fetchDirectly } from '../runtime/direct-fetch.js';

export interface SandboxCalls {
  /** Replaces the network in tests. */
  readonly fetch?: typeof fetchDirectly;
  /** Address of the sandbox, without the path of its control API. */
  readonly url: string;
  readonly signal: AbortSignal;
}

/** One request to the control API of a running sandbox. */
export interface ControlCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

/** Calls the control API. Throws `unreachable` without a sandbox and `refused`, with the status, for an error. */
export function control(
  { method, path, body }: ControlCall,
  calls: SandboxCalls,
): Promise<Record<string, unknown>> {
  return answered(calls, `/_sandbox${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
}

/** Calls any path of the sandbox and returns the JSON object of a success. */
export async function answered(
  calls: SandboxCalls,
  path: string,
  init: Omit<DirectInit, 'signal'>,
): Promise<Record<string, unknown>> {
  const url = `${calls.url}${path}`;
  let response: DirectAnswer;
  let text: string;
  try {
    response = await (calls.fetch ?? fetchDirectly)(url, { ...init, signal: calls.signal });
    text = await response.text();
  } catch (cause) {
    if (calls.signal.aborted) throw new Fault('stopped', 'stopped before the sandbox answered', { cause });
    throw new Fault('unreachable', `no sandbox answers at ${calls.url}`, {
      hint: 'start one with `rosterd sandbox`, and name it with --url or ROSTERD_SANDBOX',
      cause,
    });
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  if (response.ok && typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  const { error } = Object(body) as { error?: { message?: unknown } };
  const reason = typeof error?.message === 'string' ? error.message : '';
  throw new Fault('refused', `the sandbox answered ${response.status}${reason === '' ? '' : `: ${reason}`}`, {
    status: response.status,
    hint: response.status === 404 ? hintAfterNotFound(reason) : hintAfterRefusal,
  });
}

const hintAfterRefusal =
  'rosterd trigger --help shows what each event takes; rosterd sandbox printed the ids of its companies and users';

/** A sandbox that knows the call names what it did not find, such as "The investment". */
const hintAfterNotFound = (reason: string): string =>
  /^The \w+ was not found/.test(reason)
    ? 'name an id of this sandbox: its start prints those of users and installations, and the mirror has those of investments'
    : 'is this a sandbox? Its control API is below /_sandbox';

/** Returns the id for use in a path. Throws `usage` when it is none. */
export function idText(id: string): string {
  if (/^[A-Za-z0-9_-]{1,200}$/.test(id)) return id;
  throw new Fault('usage', `${JSON.stringify(id)} is no id`);
}
