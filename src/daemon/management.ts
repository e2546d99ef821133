import type { Api } from '../client/api.js';
import type { Access } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import type { Closable } from '../runtime/lifecycle.js';
import { openSession, type SessionParts } from './platform-session.js';

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

export interface Management extends Closable {
  readonly api: Api;
}

/** The platform as whoever manages webhook endpoints sees it: `platform.management`, or a named source's token. */
export function openManagement(parts: SessionParts, source: string | undefined): Management {
  const access = source === undefined ? managementAccess(parts) : sourceAccess(parts, source);
  const session = openSession(parts);
  return { api: session.as(access), close: () => session.close() };
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
    hint: `one of: ${config.sources.map((one) => one.name).join(', ')}`,
  });
}
