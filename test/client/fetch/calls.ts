import type { Answer, Call, Fetch } from '../../../src/client/fetch/fetch.js';

export function callTo(url: string, more: Partial<Call> = {}): Call {
  return {
    method: 'GET',
    url: new URL(url),
    headers: {},
    body: null,
    signal: new AbortController().signal,
    urgency: 'routine',
    replayable: true,
    ...more,
  };
}

export function answer(status: number, body: unknown = '', headers: Record<string, string> = {}): Answer {
  return {
    status,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: new Headers(headers),
  };
}

/** Returns the scripted responses one per call, repeats the last one, and records the calls. */
export function scripted(...script: (Answer | Error)[]): Fetch & { calls: Call[] } {
  const calls: Call[] = [];
  const fetch = async (call: Call) => {
    const entry = script[Math.min(calls.length, script.length - 1)];
    calls.push(call);
    if (entry === undefined) throw new Error('the script is empty');
    if (entry instanceof Error) throw entry;
    return entry;
  };
  return Object.assign(fetch, { calls });
}
