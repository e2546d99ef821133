import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Urgency } from '../sync/ports.js';
import type { HeaderNames } from '../wire/headers.js';
import type { BodyLimits } from './fetch/body-limits.js';
import { type Call, callName, type Fetch } from './fetch/fetch.js';
import { judgeResponse } from './judge-response.js';

export interface Ask {
  readonly method?: Call['method'];
  /** A path template of `wire/paths.ts`; `params` fills it in. */
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Form-encoded body, for the token endpoint. */
  readonly form?: Readonly<Record<string, string>>;
  readonly signal: Interruption;
  readonly urgency?: Urgency;
  /** Whether the call may be repeated without further effect. Always true for GET. */
  readonly replayable?: boolean;
  /** Maximum size of the response; `smallAnswer` by default. */
  readonly limits?: BodyLimits;
  /** The `etag` of a resource that is known: a platform that supports it answers 304 while it is the same. */
  readonly etag?: string;
  /** Whether the status says everything, so a response without JSON is accepted too. */
  readonly isStatusEnough?: boolean;
  /** Called with the body of a successful response before it is parsed. */
  readonly onText?: (text: string) => Promise<void>;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  /** The body exactly as the platform sent it. */
  readonly text: string;
}

/** Sends one typed request and returns the checked and parsed response. Throws `Fault`. */
export type Api = (ask: Ask) => Promise<Reply>;

export interface ApiParts {
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly names: HeaderNames;
  readonly clock: Clock;
}

export function createApi(parts: ApiParts): Api {
  const base = parts.baseUrl.replace(/\/+$/, '');
  return async (ask) => {
    const method = ask.method ?? 'GET';
    const call: Call = {
      method,
      url: urlOf(base, ask),
      ...contentOf(ask),
      ...(ask.etag === undefined ? {} : { headers: { 'if-none-match': `"${ask.etag}"` } }),
      signal: ask.signal,
      urgency: ask.urgency ?? 'routine',
      replayable: ask.replayable ?? method === 'GET',
      ...defined({ limits: ask.limits }),
    };
    const answer = await parts.fetch(call);
    if (answer.status === 304 && ask.etag !== undefined) return { status: 304, body: null, text: '' };
    const fault = judgeResponse(callName(call), answer, parts.names, parts.clock.now());
    if (fault !== undefined) throw fault;
    await ask.onText?.(answer.body);
    return {
      status: answer.status,
      body: ask.isStatusEnough === true ? null : parseJson(call, answer.status, answer.body),
      text: answer.body,
    };
  };
}

function contentOf(ask: Ask): Pick<Call, 'headers' | 'body'> {
  if (ask.form !== undefined) {
    return {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...ask.form }).toString(),
    };
  }
  if (ask.body === undefined) return { headers: {}, body: null };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(ask.body) };
}

/** Each parameter is encoded by itself, so an id can never change the path. */
function urlOf(base: string, ask: Ask): URL {
  const path = ask.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = ask.params?.[name];
    if (value === undefined || value === '' || value === '.' || value === '..')
      throw new Error(`${ask.path} needs the parameter "${name}"`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(ask.query ?? {})) {
    if (value !== undefined) query.set(name, value);
  }
  return new URL(query.size === 0 ? base + path : `${base}${path}?${query}`);
}

function parseJson(call: Call, status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = text.trim() === '' ? 'nothing' : /^\s*</.test(text) ? 'HTML' : 'a body that is not JSON';
    throw new Fault('contract_broken', `${callName(call)} answered ${status} with ${what}`, {
      status,
      hint: 'is `platform.baseUrl` the address of the API?',
    });
  }
}
