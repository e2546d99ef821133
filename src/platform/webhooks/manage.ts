import type { EventName } from '../../wire/events.js';
import { endpointQuota } from '../../wire/limits.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { invalidFields, notFound, Problem } from '../http/problem.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { one } from '../state/statements.js';
import {
  boundEndpoint,
  countEndpoints,
  type Endpoint,
  endpointById,
  endpointByNo,
  insertEndpoint,
  replaceEvents,
  replaceUrl,
  subscribedEvents,
} from './endpoints.js';
import { forbiddenRole, reachOf } from './reach.js';

export interface Wanted {
  readonly url: string;
  readonly events: readonly EventName[];
  readonly mode: Realm;
  readonly installation?: string | null | undefined;
}

export type Created =
  | { readonly endpoint: Endpoint; readonly secret: string }
  | { readonly endpoint: Endpoint; readonly secret: null };

/** Returns the installation to bind to, or null for an app-wide endpoint. Throws a `Problem` without permission. */
export function bindingFor(exchange: Exchange, wanted: Wanted): number | null {
  const caller = callerOf(exchange);
  const asked = wanted.installation ?? null;
  if (asked === null && caller.kind !== 'installation') {
    if (!reachOf(exchange).appWide) throw forbiddenRole();
    return null;
  }
  if (!exchange.services.options.boundEndpoints) {
    throw new Problem(
      403,
      'bound_endpoints_not_enabled',
      'Endpoints bound to an installation cannot be created yet.',
    );
  }
  const installationNo =
    asked === null && caller.kind === 'installation'
      ? caller.installationNo
      : activeInstallation(exchange, asked);
  const reached = reachOf(exchange).installations.has(installationNo);
  if (!reached && caller.kind === 'user') throw forbiddenRole();
  if (!reached) throw notFound('The installation');
  if (wanted.mode !== 'live') {
    const message = 'An endpoint bound to an installation is live only.';
    throw invalidFields([{ field: 'mode', code: 'invalid', message }]);
  }
  return installationNo;
}

function activeInstallation(exchange: Exchange, id: string | null): number {
  const caller = callerOf(exchange);
  const row = one<{ no: number }>(
    exchange.services.state,
    `SELECT no FROM installations WHERE id = ? AND application_no = ? AND realm = ? AND revoked_at IS NULL`,
    [id, caller.app.no, caller.realm],
  );
  if (row === undefined) throw notFound('The installation');
  return row.no;
}

const isRevoked = (state: State, installationNo: number): boolean =>
  one(state, 'SELECT 1 FROM installations WHERE no = ? AND revoked_at IS NOT NULL', [installationNo]) !==
  undefined;

export function createEndpoint(exchange: Exchange, wanted: Wanted, installationNo: number | null): Created {
  const { state, random } = exchange.services;
  const applicationNo = callerOf(exchange).app.no;
  return state.transaction((): Created => {
    // It may have been revoked while the host of the URL was looked up.
    if (installationNo !== null && isRevoked(state, installationNo)) throw notFound('The installation');
    const twin =
      installationNo === null ? undefined : boundEndpoint(state, installationNo, wanted.url, wanted.mode);
    if (twin !== undefined) {
      if (!sameEvents(subscribedEvents(state, twin.no), wanted.events)) throw otherEvents();
      return { endpoint: twin, secret: null };
    }
    const quota = installationNo === null ? endpointQuota.appWide : endpointQuota.perInstallation;
    if (countEndpoints(state, applicationNo, installationNo) >= quota)
      throw quotaReached(quota, installationNo);
    const { id, secret } = insertEndpoint(
      state,
      random,
      { applicationNo, installationNo, mode: wanted.mode, url: wanted.url, events: wanted.events },
      exchange.now,
    );
    return { endpoint: found(endpointById(state, applicationNo, id)), secret };
  })();
}

export function updateEndpoint(
  exchange: Exchange,
  endpoint: Endpoint,
  change: { readonly url?: string | undefined; readonly events?: readonly EventName[] | undefined },
): Endpoint {
  const { state } = exchange.services;
  return state.transaction(() => {
    if (change.url !== undefined) {
      const twin =
        endpoint.installation_no === null
          ? undefined
          : boundEndpoint(state, endpoint.installation_no, change.url, endpoint.mode);
      if (twin !== undefined && twin.no !== endpoint.no) {
        throw new Problem(409, 'conflict', 'Another endpoint of this installation has that URL.');
      }
      replaceUrl(state, endpoint.no, change.url);
    }
    if (change.events !== undefined) replaceEvents(state, endpoint.no, change.events);
    return found(endpointByNo(state, endpoint.no));
  })();
}

const sameEvents = (current: readonly EventName[], wanted: readonly EventName[]): boolean =>
  current.length === new Set(wanted).size && wanted.every((event) => current.includes(event));

const otherEvents = (): Problem =>
  new Problem(
    409,
    'conflict',
    'This installation has an endpoint with that URL and mode, subscribed to other events.',
    { remediation: 'Change its events with PATCH, or create the endpoint with another URL.' },
  );

function quotaReached(quota: number, installationNo: number | null): Problem {
  const holder = installationNo === null ? 'An application' : 'An installation';
  const message = `${holder} has at most ${quota} webhook endpoints.`;
  const field = installationNo === null ? 'url' : 'installation';
  return invalidFields([{ field, code: 'quota_reached', message }]);
}

export function found(endpoint: Endpoint | undefined): Endpoint {
  if (endpoint === undefined) throw new Error('a webhook endpoint vanished inside its own transaction');
  return endpoint;
}
