import type { Api } from '../client/api.js';
import type { Access } from '../config/config.js';
import { realmOfAccess } from '../daemon/fingerprint.js';
import { openSession, type PlatformSession, type SessionParts } from '../daemon/platform-session.js';
import { Fault, isFault } from '../domain/fault.js';
import type { Closable } from '../runtime/lifecycle.js';

export {
  createEndpoint,
  deleteEndpoint,
  type EndpointChange,
  type EndpointWithSecret,
  getEndpoint,
  listEndpoints,
  type NewEndpoint,
  reenableEndpoint,
  rotateSecret,
  type TestSend,
  testEndpoint,
  updateEndpoint,
  type WebhookEndpoint,
} from '../client/webhook-endpoints.js';

import { oneOf } from '../domain/one-of.js';

export interface Management extends Closable {
  readonly api: Api;
  /** Returns the same error, or one that explains a refusal by the platform. */
  explained(error: unknown): Promise<unknown>;
}

/** Returns the API with the token that manages webhook endpoints: `platform.management`, or a named source's token. */
export function openManagement(parts: SessionParts, source: string | undefined): Management {
  const access = source === undefined ? managementAccess(parts) : sourceAccess(parts, source);
  const session = openSession(parts);
  return {
    api: session.as(access),
    explained: (error) => explained(error, access, session, source),
    close: () => session.close(),
  };
}

/**
 * A 404 concerns the named endpoint, another refusal what the command asks for, and a refused token the one that manages.
 * Endpoints are managed with live keys, those for sandbox events included; the platform's refusal does not say so.
 */
async function explained(
  error: unknown,
  access: Access,
  session: PlatformSession,
  source: string | undefined,
): Promise<unknown> {
  if (isFault(error, 'unauthorized')) {
    const command =
      source === undefined ? 'rosterd connect --management' : `rosterd connect --source ${source}`;
    const hint =
      access.kind === 'token'
        ? `replace the token (${access.token.origin})`
        : `\`${command}\` signs in again`;
    return new Fault('unauthorized', error.message, { ...error.about, hint, cause: error });
  }
  if (isFault(error, 'refused')) {
    const hint =
      error.about.status === 404
        ? '`rosterd endpoints list` shows those there are; one bound to an installation needs --source NAME'
        : (error.about.hint ?? 'change what the platform refused; the command with --help lists its options');
    return new Fault('refused', error.message, { ...error.about, hint, cause: error });
  }
  if (
    !isFault(error, 'forbidden') ||
    (await realmOfAccess(access, { current: () => session.storedToken(access) })) !== 'test'
  )
    return error;
  return new Fault('forbidden', error.message, {
    ...error.about,
    hint: 'a live token (at_live_…): this one is of the sandbox, and endpoints are managed with live keys, also those with --mode test',
    cause: error,
  });
}

function managementAccess({ config }: SessionParts): Access {
  if (config.platform.management !== null) return config.platform.management;
  throw new Fault('usage', 'platform.management is not set: rosterd has no right to manage endpoints', {
    hint: '`rosterd connect --management --write`, or --source NAME for endpoints bound to its installation',
  });
}

function sourceAccess({ config }: SessionParts, name: string): Access {
  const source = config.sources.find((one) => one.name === name);
  if (source !== undefined) return source.access;
  throw new Fault('usage', `no source is called ${JSON.stringify(name)}`, {
    hint: oneOf(
      config.sources.map((one) => one.name),
      'leave --source out: the configuration lists none',
    ),
  });
}
