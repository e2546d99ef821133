import type { Api } from '../client/api.js';
import { type Eligible, install, listEligible, type MintedToken } from '../client/installations.js';
import { revokeTokens } from '../client/oauth.js';
import { staticToken } from '../client/tokens/static-token.js';
import type { ApplicationConfig, CredentialPlace } from '../config/config.js';
import { recordsScope } from '../config/source-entries.js';
import { checkVaultKey } from '../config/unreadable-secrets.js';
import { credentialsAt } from '../daemon/credentials-at.js';
import { openSession, type PlatformSession, type SessionParts } from '../daemon/platform-session.js';
import { Fault, isFault } from '../domain/fault.js';
import { type InstallationId, parseId } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import { fewOf } from '../domain/one-of.js';
import { requireWritable, writePrivateFile } from '../runtime/private-file.js';
import { authorizeUrlOf, type SignIn, signIn } from './sign-in.js';

export type { Eligible } from '../client/installations.js';

/** How a person reaches the consent page and returns from it. */
export type Person = Pick<SignIn, 'show' | 'paste'>;

/** The scopes a mirror needs. The identity scope is requested too, unless identity is dropped. */
export const mirrorScopes = [recordsScope, 'read:companies'] as const;
export const identityScope = 'read:investors:pii';
const revokeMillisMax = 10_000;
const installScopes = ['write:installations'] as const;
export const managementScopes = ['write:webhooks'] as const;

/** What following installations needs: to list them, and to mint a token for each. */
export const followingScopes = ['read:installations', 'write:installations'] as const;

export interface ConnectParts extends SessionParts {
  readonly application: ApplicationConfig;
  readonly person: Person;
}

export interface Installed {
  readonly installation: InstallationId;
  readonly tier: string;
  readonly scopes: readonly string[];
  /** Whether the token may read names and addresses. */
  readonly identity: boolean;
}

/** The session of a signed-in person, for as long as it takes to install. */
export interface Connecting {
  companies(signal: AbortSignal): Promise<readonly Eligible[]>;
  /** Installs the application, or mints another token where it is installed already, and stores the token. */
  install(
    company: string,
    scopes: readonly string[],
    tokenFile: string,
    signal: AbortSignal,
  ): Promise<Installed>;
  /** Revokes the tokens of the sign-in. Stored company tokens stay valid. */
  close(): Promise<void>;
}

/** Signs a person in to install the application. Company tokens belong to the company, so the sign-in is not kept. */
export async function startConnecting(parts: ConnectParts, signal: AbortSignal): Promise<Connecting> {
  const session = openSession(parts);
  try {
    const client = await clientOf(parts.application);
    const asApplication = session.client.asApplication(client.clientId);
    const tokens = await signIn(
      { ...signInOf(parts, installScopes), client },
      { api: asApplication, clock: parts.clock, random: parts.random },
      signal,
    );
    const api = session.client.as(staticToken(() => tokens.accessToken));
    // Also after an interruption, so without the signal of the command.
    const revoke = (token: string) =>
      revokeTokens(asApplication, client, token, AbortSignal.timeout(revokeMillisMax));
    return {
      companies: (ends) => listEligible(api, ends),
      install: (company, scopes, file, ends) => installOn(api, company, scopes, file, ends, revoke),
      close: async () => {
        await revoke(tokens.accessToken).catch((error: unknown) =>
          parts.logger.debug({ error }, 'the sign-in could not be revoked; it expires by itself'),
        );
        await session.close();
      },
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

async function installOn(
  api: Api,
  company: string,
  scopes: readonly string[],
  tokenFile: string,
  signal: AbortSignal,
  revoke: (token: string) => Promise<void>,
): Promise<Installed> {
  await requireWritable(tokenFile);
  const minted = await install(api, company, scopes, signal);
  try {
    requireRecords(company, minted);
    await writePrivateFile(tokenFile, `${minted.accessToken}\n`);
  } catch (error) {
    throw withEnd(error, await endOf(minted.accessToken, revoke));
  }
  return {
    installation: minted.installation.id,
    tier: minted.installation.tier,
    scopes: minted.scopes,
    identity: minted.scopes.includes(identityScope),
  };
}

/** Scopes of an installation are fixed when it is made: a scope that is ticked later does not reach it. */
function requireRecords(company: string, { scopes, installation }: MintedToken): void {
  if (scopes.includes(recordsScope)) return;
  throw new Fault('forbidden', `${company} was installed without ${recordsScope}`, {
    hint: `tick the scope on the application in the developer portal, revoke the installation ${installation.id} on the platform, then connect again`,
  });
}

/** Revokes a token that is not kept: it would stay valid for ever. Returns what became of it. */
async function endOf(token: string, revoke: (token: string) => Promise<void>): Promise<string> {
  try {
    await revoke(token);
    return 'the new token was revoked';
  } catch (error) {
    if (!isFault(error)) throw error;
    return `the new token could not be revoked and stays valid (${error.message})`;
  }
}

function withEnd(error: unknown, end: string): unknown {
  return isFault(error) ? new Fault(error.code, `${error.message}; ${end}`, error.about) : error;
}

/**
 * Signs a person in and stores the rotating tokens, under the lock that a refresh takes as well. The client
 * secret is not written there: it stays where the configuration keeps it. Returns the granted scopes.
 */
export async function keepSignIn(
  parts: ConnectParts,
  place: CredentialPlace,
  scopes: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const session: PlatformSession = openSession(parts);
  try {
    const client = await clientOf(parts.application);
    const api = session.client.asApplication(client.clientId);
    const { clock, random } = parts;
    const store = credentialsAt(place, session.vault, clock);
    // A sign-in that cannot be stored would be lost, so the store is tried before a person signs in.
    if ('entry' in place) for (const key of parts.config.vault.keys) await checkVaultKey(key);
    await store.withLock(signal, async () => {});
    const tokens = await signIn({ ...signInOf(parts, scopes), client }, { api, clock, random }, signal);
    await store.withLock(signal, () =>
      store.write({
        clientId: client.clientId,
        clientSecret: null,
        accessToken: tokens.accessToken,
        refreshToken: tokens.refreshToken,
        previousRefreshToken: null,
        expiresAt:
          tokens.expiresInSeconds === null
            ? null
            : instantFromMillis(clock.now() + tokens.expiresInSeconds * 1000),
        scope: tokens.scope,
      }),
    );
    return tokens.scope.split(' ').filter((scope) => scope !== '');
  } finally {
    await session.close();
  }
}

async function clientOf({ clientId, clientSecret }: ApplicationConfig) {
  return { clientId, clientSecret: clientSecret === null ? null : await clientSecret.reveal() };
}

function signInOf(
  { application, config, person }: ConnectParts,
  scopes: readonly string[],
): Omit<SignIn, 'client'> {
  return {
    redirectUri: application.redirectUri,
    authorizeUrl: application.authorizeUrl ?? authorizeUrlOf(config.platform.baseUrl, application.clientId),
    scopes,
    ...person,
  };
}

/** Returns the named companies, all, or the only one; `choose` when a person has to choose. Throws `usage`. */
export function chosenCompanies(
  eligible: readonly Eligible[],
  asked: { readonly ids: readonly string[]; readonly all: boolean },
): readonly Eligible[] | 'choose' {
  if (eligible.length === 0) {
    throw new Fault('forbidden', 'this person edits no company the application could be installed on', {
      hint: 'sign in as a founder, admin or editor of the company',
    });
  }
  const unknown = asked.ids.find((id) => !eligible.some((company) => company.id === id));
  if (unknown !== undefined) {
    const problem = parseId('company', unknown) === undefined ? 'is no company id' : 'is not among them';
    throw new Fault('usage', `--company ${unknown} ${problem}`, { hint: `one of: ${idsOf(eligible)}` });
  }
  if (asked.all) return eligible;
  if (asked.ids.length > 0) return eligible.filter(({ id }) => asked.ids.includes(id));
  return eligible.length === 1 ? eligible : 'choose';
}

export const idsOf = (eligible: readonly Eligible[]): string => fewOf(eligible.map(({ id }) => id));
