import { get } from 'node:http';
import { staticToken } from '../client/tokens/static-token.js';
import { listEndpoints, type WebhookEndpoint } from '../client/webhook-endpoints.js';
import type { Config, EndpointConfig } from '../config/config.js';
import type { PlatformSession } from '../daemon/platform-session.js';
import { isFault } from '../domain/fault.js';
import { hostAndPort } from '../domain/host-and-port.js';
import { ofOtherMode } from '../endpoint/bound.js';
import { isSameAddress } from '../endpoint/same-address.js';
import { type EndpointState, liveSecrets } from '../endpoint/state.js';
import { endpointStore } from '../endpoint/state-store.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';
import { isOwnAddress } from './own-address.js';

type Listen = NonNullable<Config['console']>['listen'];

const healthMillisMax = 3_000;
const healthCharactersMax = 1_000_000;

/**
 * Passes when the port is free or the daemon answers on it. It connects, because listening could block a daemon. `isElsewhere`:
 * no daemon over this database runs here, so a rosterd that answers has another one.
 */
export async function portCheck(
  name: string,
  option: string,
  listen: Listen | null,
  isElsewhere: boolean,
  healthMillis = healthMillisMax,
): Promise<Check> {
  if (listen === null) return skip(name, `${option} is not configured`);
  const { host, port } = listen;
  const where = hostAndPort(host, port);
  if (!isOwnAddress(host))
    return fail(
      name,
      `${where} is no address of this machine`,
      `ip address; then ${option}.listen in config.json`,
    );
  if (port === 0) return pass(name, 'any free port is taken');
  const answer = await healthOf(listen, healthMillis);
  if (answer === 'free') return pass(name, `${where} is free: no daemon runs on it`);
  const mend = `ss -ltnp 'sport = :${port}'; then ${option}.listen in config.json`;
  // A daemon on a busy machine may take that long.
  if (answer === 'silent' && !isElsewhere)
    return warn(
      name,
      `${where} is in use and did not answer within ${healthMillis / 1_000} s: the daemon is busy, or another program uses it`,
      `rosterd doctor once more; or ${mend}`,
    );
  if (answer === 'silent' || answer === 'other')
    return fail(name, `${where} is in use by another program`, mend);
  return isElsewhere
    ? warn(name, `${where} is in use by a rosterd that does not work on this database`, mend)
    : pass(name, `${where} answers: the daemon runs`);
}

function healthOf({ host, port }: Listen, timeout: number): Promise<'free' | 'ours' | 'silent' | 'other'> {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return new Promise((resolve) => {
    const asked = get({ host: address, port, path: '/healthz', timeout, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (text.length > healthCharactersMax) asked.destroy(new Error('too long'));
      });
      response.once('end', () => resolve(isHealth(response.statusCode, text) ? 'ours' : 'other'));
      response.once('error', () => resolve('other'));
    });
    asked.once('timeout', () => {
      resolve('silent');
      asked.destroy();
    });
    asked.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'ECONNREFUSED' ? 'free' : 'other');
    });
  });
}

/**
 * Returns whether a rosterd sent this: the receiver answers `ok`, the console JSON. Other programs may have a `/healthz` too.
 * A console that cannot read its database may answer 503 with a page.
 */
function isHealth(status: number | undefined, text: string): boolean {
  if (status === 503) return true;
  return status === 200 && (text === 'ok\n' || text.startsWith('{"health":'));
}

const endpointNames = ['endpoint.enabled', 'endpoint.deliveries', 'endpoint.secret', 'endpoint.mode'];

/** Checks the webhook endpoint on the platform, as far as the management token may see it. */
export async function endpointChecks(
  config: Config,
  session: PlatformSession,
  reachable: boolean,
  now: number,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const all = (why: string) => endpointNames.map((name) => skip(name, why));
  const wanted = config.receiver?.endpoint ?? null;
  const { management } = config.platform;
  if (wanted === null) return all('receiver.endpoint is not configured');
  if (management === null) return all('platform.management is not set');
  let state: EndpointState;
  try {
    state = await endpointStore(wanted, session.vault).read();
  } catch (error) {
    return [
      ...all('the state of the endpoint cannot be read').filter(({ name }) => name !== 'endpoint.secret'),
      failedBy('endpoint.secret', error, 'rosterd run'),
    ];
  }
  if (!reachable) return all('the platform cannot be reached');
  try {
    const token = await session.storedToken(management);
    const { endpoints } = await listEndpoints(session.client.as(staticToken(() => token)), signal);
    return [...judged(ours(endpoints, state, wanted), state, now), modeCheck(endpoints, wanted)];
  } catch (error) {
    if (isFault(error, 'unauthorized') && management.kind === 'credentials')
      return all('the access token of platform.management has expired; the daemon refreshes it');
    return [
      failedBy('endpoint.enabled', error, 'rosterd connect --management --write'),
      ...all('the platform did not say').slice(1),
    ];
  }
}

function ours(
  endpoints: readonly WebhookEndpoint[],
  state: EndpointState,
  wanted: EndpointConfig,
): WebhookEndpoint | undefined {
  const realm = endpoints.filter(({ mode }) => mode === wanted.mode);
  return (
    realm.find(({ id }) => id === state.id) ??
    realm.find(({ url }) => url !== null && isSameAddress(url, wanted.publicUrl))
  );
}

/** After `mode` was changed in the configuration, the endpoint of the former one is still registered. */
function modeCheck(endpoints: readonly WebhookEndpoint[], wanted: EndpointConfig): Check {
  const name = 'endpoint.mode';
  const others = ofOtherMode(endpoints, wanted);
  const [first] = others;
  if (first === undefined) return pass(name, 'no endpoint of another mode has this address');
  const ids = others.map(({ id, mode }) => `${id} (${mode})`).join(', ');
  return warn(
    name,
    `${ids} has this address, too, and receiver.endpoint.mode is "${wanted.mode}": the receiver refuses its deliveries unless receiver.secrets has its secret`,
    `rosterd endpoints delete ${first.id}`,
  );
}

function judged(endpoint: WebhookEndpoint | undefined, state: EndpointState, now: number): readonly Check[] {
  const [enabled = '', deliveries = '', secret = ''] = endpointNames;
  if (endpoint === undefined) {
    const { health } = state;
    return [
      health?.state === 'blocked'
        ? fail(
            enabled,
            `the daemon could not make the endpoint: ${health.message ?? health.code ?? 'without a reason'}`,
            'rosterd connect --management --write',
          )
        : warn(enabled, 'there is no endpoint on the platform yet; the daemon makes it', 'rosterd run'),
      skip(deliveries, 'there is no endpoint yet'),
      skip(secret, 'there is no endpoint yet'),
    ];
  }
  const { id, failingSince, lastDeliveryStatus } = endpoint;
  const refused = failingSince !== null && lastDeliveryStatus === '401';
  const known = state.id === id && liveSecrets(state, now).length > 0;
  return [
    endpoint.enabled
      ? pass(enabled, `${id} is switched on`)
      : fail(enabled, `${id} is switched off: nothing is delivered`, `rosterd endpoints reenable ${id}`),
    deliveriesCheck(deliveries, endpoint),
    known && !refused
      ? pass(secret, 'the signing secret is known')
      : fail(
          secret,
          known
            ? 'deliveries are refused: their signature is of another secret'
            : `the signing secret of ${id} is not known here`,
          'rosterd run, which replaces the secret',
        ),
  ];
}

function deliveriesCheck(name: string, endpoint: WebhookEndpoint): Check {
  const { id, failingSince, lastDeliveryAt, lastDeliveryStatus } = endpoint;
  if (failingSince !== null)
    return warn(
      name,
      `deliveries fail since ${failingSince} (${lastDeliveryStatus ?? 'no answer'})`,
      `rosterd endpoints test ${id}`,
    );
  return lastDeliveryAt === null
    ? skip(name, 'the platform has delivered nothing yet')
    : pass(name, `the last delivery, at ${lastDeliveryAt}, was answered ${lastDeliveryStatus ?? ''}`);
}
