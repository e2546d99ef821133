import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { connect as connectTls, rootCertificates } from 'node:tls';
import type { Config } from '../config/config.js';
import type { PlatformSession } from '../daemon/platform-session.js';
import { isFault } from '../domain/fault.js';
import { readNamedFile } from '../runtime/named-file.js';
import { platformPeer, tlsProblem } from '../runtime/tls-problem.js';
import { paths } from '../wire/paths.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';

const later = ['platform.tcp', 'platform.tls', 'platform.api', 'platform.clock'];

/** Checks the connection step by step, from the DNS name to the first response. A failed step skips the rest. */
export async function platformChecks(
  { platform }: Config,
  session: PlatformSession,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const url = new URL(platform.baseUrl);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const checks: Check[] = [];
  const rest = () => later.slice(checks.length - 1).map((name) => skip(name, 'the step before it failed'));

  const name = await lookup(host).catch(() => undefined);
  checks.push(
    name === undefined
      ? fail(
          'platform.dns',
          `${host} has no address`,
          `getent hosts ${host}; then platform.baseUrl in config.json`,
        )
      : pass('platform.dns', `${host} is ${name.address}`),
  );
  if (name === undefined) return [...checks, ...rest()];

  const timeout = platform.connectTimeoutMillis;
  const refused = await opens(() => connect({ host, port, timeout }), 'connect');
  checks.push(
    refused === null
      ? pass('platform.tcp', `${host}:${port} accepts connections`)
      : fail(
          'platform.tcp',
          `${host}:${port} accepts no connection (${refused})`,
          `curl -v ${platform.baseUrl}`,
        ),
  );
  if (refused !== null) return [...checks, ...rest()];

  const distrusted =
    url.protocol === 'https:'
      ? await opens(() => secured(host, port, timeout, platform.caFile), 'secureConnect')
      : null;
  const tls = distrusted === null ? null : tlsProblem(distrusted, platformPeer);
  checks.push(
    url.protocol !== 'https:'
      ? skip('platform.tls', 'plain HTTP, which only this machine may use')
      : distrusted === null
        ? pass('platform.tls', 'the certificate is trusted')
        : fail(
            'platform.tls',
            `no trusted connection: ${tls?.what ?? distrusted} (${distrusted})`,
            tls?.next ?? 'rosterd config show; platform.ca names a private authority',
          ),
  );
  if (distrusted !== null) return [...checks, ...rest()];
  return [...checks, ...(await answerChecks(session, signal))];
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
    ...(caFile === null ? {} : { ca: [...rootCertificates, readNamedFile(caFile)] }),
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
