import type { Api } from '../client/api.js';
import {
  authorizeLink,
  type Challenge,
  codeFromRedirect,
  exchangeCode,
  isOurRedirect,
  newChallenge,
  type OAuthClient,
  type TokenSet,
} from '../client/oauth.js';
import { shownValue } from '../config/shown-value.js';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Random } from '../runtime/random.js';
import { paths } from '../wire/paths.js';
import { isLoopbackRedirect, listenForRedirect } from './redirect-listener.js';

export interface SignIn {
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly authorizeUrl: string;
  readonly scopes: readonly string[];
  /** Shows the link to a person, who has `withinMillis` to sign in: prints it, opens a browser. */
  show(link: string, withinMillis: number): void;
  /** Asks the person for the address the browser ended at; null waits for the browser on this machine. */
  readonly paste: ((signal: AbortSignal) => Promise<string>) | null;
}

export interface SignInParts {
  readonly api: Api;
  readonly clock: Clock;
  readonly random: Random;
}

/** The timeout of a sign-in: a port must not stay open for a person who has left. */
const signInMillisMax = 5 * 60_000;

/**
 * Runs one sign-in with the authorization code flow and PKCE. State and verifier are new, stay in memory and are used
 * once. The link contains neither the verifier nor the client secret, so it is safe to print.
 */
export async function signIn(ask: SignIn, parts: SignInParts, signal: AbortSignal): Promise<TokenSet> {
  const challenge = newChallenge(parts.random);
  const { code, redirectUri } =
    ask.paste === null
      ? await codeByLoopback(ask, challenge, parts.clock, signal)
      : await codeByPaste(ask, ask.paste, challenge, parts.clock, signal);
  const exchange = { code, redirectUri, verifier: challenge.verifier };
  return exchangeCode(parts.api, ask.client, exchange, signal);
}

interface Arrival {
  readonly code: string;
  readonly redirectUri: string;
}

async function codeByLoopback(
  ask: SignIn,
  challenge: Challenge,
  clock: Clock,
  signal: AbortSignal,
): Promise<Arrival> {
  if (!isLoopbackRedirect(ask.redirectUri)) {
    throw new Fault(
      'usage',
      `platform.application.redirectUri is ${shownValue(ask.redirectUri)}, not on this machine`,
      {
        hint: 'use --no-browser and paste the address the browser ends at',
      },
    );
  }
  const listener = await listenForRedirect(ask.redirectUri, (query) => isOurRedirect(query, challenge));
  try {
    const { redirectUri } = listener;
    ask.show(linkOf(ask, redirectUri, challenge), signInMillisMax);
    const query = await inTime(() => listener.arrived, clock, signal);
    return { code: codeFromRedirect(query, challenge), redirectUri };
  } finally {
    await listener.close();
  }
}

async function codeByPaste(
  ask: SignIn,
  paste: (signal: AbortSignal) => Promise<string>,
  challenge: Challenge,
  clock: Clock,
  signal: AbortSignal,
): Promise<Arrival> {
  const { redirectUri } = ask;
  ask.show(linkOf(ask, redirectUri, challenge), signInMillisMax);
  const text = (await inTime(paste, clock, signal)).trim();
  // A bare code has no state to check; PKCE still binds it to this request.
  const code = /^[A-Za-z0-9._~-]+$/.test(text) ? text : codeFromRedirect(queryIn(text), challenge);
  return { code, redirectUri };
}

function queryIn(text: string): URLSearchParams {
  const url = URL.parse(text);
  if (url !== null) return url.searchParams;
  throw new Fault('usage', 'what was pasted is neither an address nor a code', {
    hint: 'copy the whole address from the browser, from http to the end',
  });
}

function linkOf({ client, authorizeUrl, scopes }: SignIn, redirectUri: string, challenge: Challenge): string {
  return authorizeLink({ authorizeUrl, clientId: client.clientId, redirectUri, scopes, challenge });
}

async function inTime<Value>(
  wait: (signal: AbortSignal) => Promise<Value>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Value> {
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const late = clock.wait(signInMillisMax, ends).then((): never => {
    if (signal.aborted) throw new Fault('stopped', 'stopped before the sign-in was finished');
    throw new Fault(
      'reauthorize',
      `the sign-in was not finished within ${signInMillisMax / 60_000} minutes`,
      {
        hint: 'run `rosterd connect` again and follow the link it prints',
      },
    );
  });
  try {
    return await Promise.race([wait(ends), late]);
  } finally {
    over.abort();
    late.catch(() => {});
  }
}

/** Returns the consent page. Sandbox keys have a separate one. */
export function authorizeUrlOf(baseUrl: string, clientId: string): string {
  return `${baseUrl}${clientId.startsWith('pk_test_') ? paths.sandboxAuthorize : paths.authorize}`;
}
