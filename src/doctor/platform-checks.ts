import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { openConnector } from '../client/fetch/connector.js';
import type { Config } from '../config/config.js';
import type { PlatformSession } from '../daemon/platform-session.js';
import { isFault } from '../domain/fault.js';
import { hostAndPort } from '../domain/host-and-port.js';
import { trustedWith } from '../runtime/authority.js';
import { readNamedFile } from '../runtime/named-file.js';
import { ProxyFailure, proxiesOf, proxyName, type WebProxy } from '../runtime/proxy.js';
import { platformPeer, tlsProblem } from '../runtime/tls-problem.js';
import { paths } from '../wire/paths.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';

const later = ['platform.tcp', 'platform.tls', 'platform.api', 'platform.clock'];

/** Checks the connection step by step, from the DNS name to the first response. A failed step skips the rest. */
export async function platformChecks(
  { platform, proxy: variables }: Config,
  session: PlatformSession,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const url = new URL(platform.baseUrl);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const proxy = proxiesOf(variables)(url);
  const way: Way = { platform, host, port, isSecure: url.protocol === 'https:' };
  const checks = proxy === null ? await directChecks(way) : await proxyChecks(proxy, way);
  if (checks.some(({ verdict }) => verdict === 'fail'))
    return [
      ...checks,
      ...later.slice(checks.length - 1).map((name) => skip(name, 'the step before it failed')),
    ];
  return [...checks, ...(await answerChecks(session, signal))];
}

interface Way {
  readonly platform: Config['platform'];
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

async function directChecks({ platform, host, port, isSecure }: Way): Promise<readonly Check[]> {
  const name = await lookup(host).catch(() => undefined);
  if (name === undefined)
    return [
      fail(
        'platform.dns',
        `${host} has no address`,
        `getent hosts ${host}; then platform.baseUrl in config.json`,
      ),
    ];
  const checks = [pass('platform.dns', `${host} is ${name.address}`)];

  const timeout = platform.connectTimeoutMillis;
  const refused = await opens(() => connect({ host, port, timeout }), 'connect');
  if (refused !== null)
    return [
      ...checks,
      fail(
        'platform.tcp',
        `${hostAndPort(host, port)} accepts no connection (${refused})`,
        `curl -v ${platform.baseUrl}`,
      ),
    ];
  checks.push(pass('platform.tcp', `${hostAndPort(host, port)} accepts connections`));

  if (!isSecure) return [...checks, skip('platform.tls', 'plain HTTP, which only this machine may use')];
  const distrusted = await opens(() => secured(host, port, timeout, platform.caFile), 'secureConnect');
  return [...checks, distrusted === null ? trusted : untrusted(distrusted)];
}

const trusted = pass('platform.tls', 'the certificate is trusted');

function untrusted(code: string): Check {
  const tls = tlsProblem(code, platformPeer);
  return fail(
    'platform.tls',
    `no trusted connection: ${tls?.what ?? code} (${code})`,
    tls?.next ?? 'rosterd config show; platform.ca names a private authority',
  );
}

/** The proxy looks the name up. */
async function proxyChecks(proxy: WebProxy, { platform, host, port }: Way): Promise<readonly Check[]> {
  const name = proxyName(proxy);
  const checks = [skip('platform.dns', `the proxy ${name} looks ${host} up`)];

  const timeout = platform.connectTimeoutMillis;
  const nearest = { host: proxy.hostname, port: Number(proxy.port) };
  const refused = await opens(() => connect({ ...nearest, timeout }), 'connect');
  if (refused !== null)
    return [
      ...checks,
      fail(
        'platform.tcp',
        `the proxy ${name} accepts no connection (${refused})`,
        'printenv HTTPS_PROXY https_proxy NO_PROXY no_proxy',
      ),
    ];
  checks.push(pass('platform.tcp', `the proxy ${name} accepts connections`));

  const failed = await tunnels(proxy, { host, port, timeout, caFile: platform.caFile });
  if (failed === null) return [...checks, trusted];
  if (failed instanceof ProxyFailure)
    return [
      ...checks,
      fail('platform.tls', `no way to ${hostAndPort(host, port)}: ${failed.what}`, failed.next),
    ];
  return [...checks, untrusted((failed as NodeJS.ErrnoException).code ?? 'unknown reason')];
}

interface Server {
  readonly host: string;
  readonly port: number;
  readonly timeout: number;
  readonly caFile: string | null;
}

/** Returns null when the server behind the proxy can be trusted. */
function tunnels(proxy: WebProxy, { host, port, timeout, caFile }: Server): Promise<Error | null> {
  const open = openConnector({
    timeoutMillis: timeout,
    ca: caFile === null ? null : trustedWith(readNamedFile(caFile)),
    isAwaited: () => false,
    proxyFor: () => proxy,
  });
  return new Promise((resolve) => {
    open({ hostname: host, host, protocol: 'https:', port: `${port}` }, (error, socket) => {
      socket?.destroy();
      resolve(error);
    });
  });
}

async function answerChecks({ client }: PlatformSession, signal: AbortSignal): Promise<readonly Check[]> {
  const api = client.asApplication('doctor');
  try {
    await api({ path: paths.discovery, signal });
  } catch (error) {
    const isAnswer = isFault(error) && (error.code === 'refused' || error.about.status === 404);
    if (!isAnswer)
      return [failedBy('platform.api', error, 'rosterd config show'), skip('platform.clock', undated)];
  }
  const isKnown = Number.isFinite(client.time.sinceObservedMillis);
  return [
    pass('platform.api', 'the API answers'),
    isKnown ? clockCheck(client.time.aheadMillis) : skip('platform.clock', undated),
  ];
}

const undated = 'no response had a date';

/** Signatures are accepted within 300 seconds on either side: beyond, every webhook is rejected. */
export function clockCheck(aheadMillis: number): Check {
  const name = 'platform.clock';
  const seconds = Math.round(Math.abs(aheadMillis) / 1000);
  const told = `this clock is ${seconds} s ${aheadMillis < 0 ? 'ahead of' : 'behind'} the platform's`;
  const mend = 'sudo timedatectl set-ntp true';
  if (seconds > 300) return fail(name, `${told}: webhooks are refused`, mend);
  return seconds > 30 ? warn(name, told, mend) : pass(name, 'both clocks agree');
}

function secured(host: string, port: number, timeout: number, caFile: string | null) {
  return connectTls({
    host,
    port,
    timeout,
    ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }),
    ...(caFile === null ? {} : { ca: trustedWith(readNamedFile(caFile)) }),
  });
}

/** Returns null when the connection opens, otherwise the error code. */
function opens(
  open: () => ReturnType<typeof connect>,
  event: 'connect' | 'secureConnect',
): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = open();
    const end = (why: string | null) => {
      resolve(why);
      socket.destroy();
    };
    socket.once(event, () => end(null));
    socket.once('timeout', () => end('timeout'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'unknown reason'));
  });
}
