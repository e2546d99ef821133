import { Fault } from '../../domain/fault.js';
import { codeOf } from '../../runtime/error-codes.js';
import { descriptorsFault } from '../../runtime/file-descriptors.js';
import { proxyFailureIn } from '../../runtime/proxy.js';
import { platformPeer, tlsProblem } from '../../runtime/tls-problem.js';
import { type Call, callName } from './fetch.js';

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
