import { Fault, isFault } from '../domain/fault.js';
import { type InstallationId, parseId } from '../domain/ids.js';
import type { Interruption } from '../runtime/interruption.js';
import { paths } from '../wire/paths.js';
import type { Api } from './api.js';
import { installationsAnswer } from './fetch/body-limits.js';
import { tokenShape } from './oauth.js';
import {
  brokenResource,
  fieldsOf,
  listOf,
  type Resource,
  resourceOf,
  sameAs,
  textIn,
  textOrNullIn,
  textsIn,
} from './resource.js';

export interface Installation {
  readonly id: InstallationId;
  readonly target: { readonly type: string; readonly id: string; readonly name: string };
  readonly tier: string;
  readonly scopes: readonly string[];
  readonly status: string;
  readonly revokedAt: string | null;
}

/** The token is in this one response and never shown again. It does not expire. */
export interface MintedToken {
  readonly installation: Installation;
  readonly accessToken: string;
  /** The granted scopes. The platform silently drops scopes that it does not grant. */
  readonly scopes: readonly string[];
}

/** A company on which the signed-in person may install the application. */
export interface Eligible {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly installation: InstallationId | null;
}

/** Returns the companies that the person may install the application on. */
export async function listEligible(api: Api, signal: AbortSignal): Promise<readonly Eligible[]> {
  const { body } = await api({
    path: paths.eligibleInstallations,
    query: { target_type: 'company' },
    signal,
  });
  return listOf(body, 'company').map((item) => {
    const fields = fieldsOf(item);
    const id = textIn(fields, 'id');
    if (id === '') throw brokenResource('company', 'id');
    return {
      type: textIn(fields, 'type'),
      id,
      name: textIn(fields, 'name'),
      tier: textIn(fields, 'tier'),
      installation:
        fields.installed === true
          ? (parseId('installation', fieldsOf(fields.installation).id) ?? null)
          : null,
    };
  });
}

export interface InstallationsSeen {
  readonly installations: readonly Installation[];
  /** Whether every entry could be read and there are as many as the platform counted. */
  readonly isComplete: boolean;
}

/** The list has no pages, and a manager's list names every installation of the application. */
export async function listInstallations(api: Api, signal: Interruption): Promise<InstallationsSeen> {
  const { body } = await api({ path: paths.installations, limits: installationsAnswer, signal });
  const entries = listOf(body, 'installation');
  const installations: Installation[] = [];
  for (const entry of entries)
    try {
      installations.push(installationOf(entry));
    } catch (error) {
      // The others are still worth reading.
      if (!isFault(error, 'contract_broken')) throw error;
    }
  const { count } = fieldsOf(fieldsOf(body).meta);
  const isCounted = typeof count !== 'number' || count === entries.length;
  return { installations, isComplete: isCounted && installations.length === entries.length };
}

export async function getInstallation(
  api: Api,
  id: InstallationId,
  signal: Interruption,
): Promise<Installation> {
  const { body } = await api({ path: paths.installation, params: { external_id: id }, signal });
  return sameAs(id, installationOf(fieldsOf(body).data), 'installation');
}

/**
 * Installs the application on a company, or mints another token when it is installed already. A company has at most one active
 * installation, and the platform's refusal names it. A lost response, which may have left an installation behind, is
 * therefore recoverable.
 */
export async function install(
  api: Api,
  company: string,
  scopes: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<MintedToken> {
  try {
    const { body } = await api({
      method: 'POST',
      path: paths.installations,
      body: { target_type: 'company', target_id: company, scopes },
      signal,
    });
    return mintedOf(body);
  } catch (error) {
    const existing = existingInstallation(error);
    if (existing === undefined) throw error;
    return mintToken(api, existing, scopes, signal);
  }
}

function existingInstallation(error: unknown): InstallationId | undefined {
  if (!(error instanceof Fault) || error.about.type !== 'already_installed') return undefined;
  return parseId('installation', error.about.details?.installation);
}

/** Without `scopes` the token gets the scopes of the installation; an empty list would grant nothing. */
export async function mintToken(
  api: Api,
  id: InstallationId,
  scopes: readonly string[] | undefined,
  signal: Interruption,
): Promise<MintedToken> {
  const { body } = await api({
    method: 'POST',
    path: paths.installationTokens,
    params: { external_id: id },
    ...(scopes === undefined ? {} : { body: { scopes } }),
    signal,
  });
  const minted = mintedOf(body);
  // The token of another installation would list another company under this one's name.
  sameAs(id, minted.installation, 'installation');
  return minted;
}

function mintedOf(body: unknown): MintedToken {
  const { data, token } = fieldsOf(body);
  const { access_token, scope } = fieldsOf(token);
  if (typeof access_token !== 'string' || !tokenShape.test(access_token))
    throw brokenResource('token', 'access_token');
  const installation = installationOf(data);
  return {
    installation,
    accessToken: access_token,
    scopes: typeof scope === 'string' ? scope.split(' ').filter((name) => name !== '') : installation.scopes,
  };
}

function installationOf(value: unknown): Installation {
  const { id, attributes }: Resource = resourceOf(value, 'installation');
  const known = parseId('installation', id);
  if (known === undefined) throw brokenResource('installation', 'id');
  const target = fieldsOf(attributes.target);
  return {
    id: known,
    target: { type: textIn(target, 'type'), id: textIn(target, 'id'), name: textIn(target, 'name') },
    tier: textIn(attributes, 'tier'),
    scopes: textsIn(attributes, 'scopes'),
    status: textIn(attributes, 'status'),
    revokedAt: textOrNullIn(attributes, 'revoked_at'),
  };
}
