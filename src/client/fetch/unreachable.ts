import { Fault } from '../../domain/fault.js';
import { descriptorsFault } from '../../runtime/file-descriptors.js';
import { platformPeer, tlsProblem } from '../../runtime/tls-problem.js';
import { type Call, callName } from './fetch.js';
import { ProxyFailure } from './tunnel.js';

/** Returns the fault for a connection error. undici wraps the cause in `fetch failed`; nock throws it directly. */
export function unreachable(call: Call, error: unknown): Fault {
  const spent = descriptorsFault(error);
  if (spent !== null) return spent;
  const failure = proxyFailureIn(error);
  if (failure !== null)
    return new Fault(
      'unreachable',
      `${call.url.host} could not be reached for ${callName(call)}: ${failure.what}`,
      {
        cause: error,
        hint: failure.next,
        ...(failure.lasting ? { lasting: true } : {}),
      },
    );
  const code = codeOf(error) ?? 'no answer';
  const excess = excesses[code];
  if (excess !== undefined) return new Fault('contract_broken', `${callName(call)} answered with ${excess}`);
  const problem = tlsProblem(code, platformPeer);
  if (problem !== null)
    return new Fault(
      'unreachable',
      `${call.url.host} could not be reached for ${callName(call)}: ${problem.what} (${code})`,
      { cause: error, hint: problem.next, lasting: true },
    );
  return new Fault('unreachable', `${call.url.host} could not be reached for ${callName(call)}: ${code}`, {
    cause: error,
    ...(isNoHttp(code) && call.url.protocol === 'http:'
      ? { hint: 'the response is not HTTP: does `platform.baseUrl` have to begin with https?' }
      : {}),
  });
}

const excesses: Readonly<Record<string, string>> = {
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'more bytes than are accepted',
  UND_ERR_HEADERS_OVERFLOW: 'more headers than are accepted',
};

/** llhttp, Node's HTTP parser, could not parse the response. */
const isNoHttp = (code: string) => code.startsWith('HPE_');

const proxyFailureIn = (error: unknown): ProxyFailure | null =>
  causes(error).find((one) => one instanceof ProxyFailure) ?? null;

const codeOf = (error: unknown): string | undefined =>
  causes(error)
    .map((one) => (one as { code?: unknown }).code)
    .find((code): code is string => typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code));

/** The error and what caused it. */
function causes(error: unknown): readonly Error[] {
  const all: Error[] = [];
  for (let at = error; at instanceof Error && all.length < 5; at = at.cause) all.push(at);
  return all;
}
