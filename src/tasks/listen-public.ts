import type { Api } from '../client/api.js';
import { createEndpoint, deleteEndpoint } from '../client/webhook-endpoints.js';
import { listenFault } from '../daemon/listen-fault.js';
import { Fault, isFault } from '../domain/fault.js';
import { signatureHeader } from '../platform/webhooks/sign.js';
import { Lifecycle } from '../runtime/lifecycle.js';
import { isSameSecret } from '../runtime/same-secret.js';
import { type Arrived, type Forwarder, openForwarder } from './forward.js';
import { forwarded } from './forwarded.js';
import { inTime } from './in-time.js';
import type { ListenAsk, Listening, ListenParts } from './listen.js';

export interface PublicAsk extends ListenAsk {
  /** The public address of a tunnel that leads to `at`. */
  readonly publicUrl: string;
  readonly at: { readonly host: string; readonly port: number };
  readonly mode: 'live' | 'test';
  /** Name of the signature header. */
  readonly signature: string;
}

/** How long creating and removing the endpoint may take, also after the signal. */
const callMillis = 30_000;

/**
 * Creates an endpoint of a real platform at the public address of a tunnel, and forwards what arrives with a valid
 * signature until the signal aborts. Then it deletes the endpoint.
 */
export async function listenToPlatform(ask: PublicAsk, api: Api, parts: ListenParts): Promise<Listening> {
  const { clock, signal, onForwarded, onNote } = parts;
  const header = ask.signature.toLowerCase();
  const lifecycle = new Lifecycle();
  let secret = '';
  let last: Arrived | null = null;

  const forwarder: Forwarder = await openForwarder({
    at: ask.at,
    path: null,
    forwardTo: ask.forwardTo,
    clock,
    accepts: (arrived) => secret !== '' && isSigned(arrived, header, secret),
    onAnswer(arrived, answer) {
      last = arrived;
      onForwarded(forwarded(arrived, answer, { now: clock.now(), resent: false }));
    },
  }).catch((error: unknown) => {
    throw listenFault(error, '--listen', ask.at);
  });
  lifecycle.add('forwarder', () => forwarder.close());

  const wanted = { url: ask.publicUrl, events: ask.events, mode: ask.mode };
  let endpoint: string;
  try {
    const created = await inTime(clock, callMillis, (late) => createEndpoint(api, wanted, late));
    endpoint = created.endpoint.id;
    if (created.secret === null) {
      throw new Fault('refused', `${endpoint} has this address already, and its secret is not shown again`, {
        hint: `\`rosterd endpoints delete ${endpoint}\`, or another --public-url`,
      });
    }
    secret = created.secret;
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
  lifecycle.add('endpoint', async () => {
    try {
      await inTime(clock, callMillis, (late) => deleteEndpoint(api, endpoint, late));
    } catch (error) {
      if (!isFault(error)) throw error;
      if (error.code === 'refused' && error.about.status === 404) return;
      throw new Fault(error.code, `${endpoint} is not deleted: ${error.message}`, {
        ...error.about,
        hint: `\`rosterd endpoints delete ${endpoint}\``,
        cause: error,
      });
    }
  });

  return {
    endpoint,
    secret,
    async resend() {
      if (last === null) return onNote('there is no delivery to resend yet');
      const again = signedAgain(last, header, secret, Math.floor(clock.now() / 1000));
      const answer = await forwarder.send(again);
      onForwarded(forwarded(again, answer, { now: clock.now(), resent: true }));
    },
    ended: aborted(signal).then(() => lifecycle.close()),
  };
}

/** Returns whether one of the values in the header is ours. The receiver checks the time. */
function isSigned({ headers, body }: Arrived, header: string, secret: string): boolean {
  const value = headers.find((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === header);
  const given = value?.split(',').map((part) => part.trim()) ?? [];
  const time = /^t=(\d{1,15})$/.exec(given.find((part) => part.startsWith('t=')) ?? '')?.[1];
  if (time === undefined) return false;
  const [, expected = ''] = signatureHeader([secret], Number(time), body.toString('utf8')).split(',');
  return given.some((part) => isSameSecret(part, expected));
}

/** The API has no resend: rosterd sends the same bytes itself, signed now, because receivers refuse old signatures. */
function signedAgain({ headers, body }: Arrived, header: string, secret: string, seconds: number): Arrived {
  const value = signatureHeader([secret], seconds, body.toString('utf8'));
  return {
    body,
    headers: headers.map((one, at) =>
      at % 2 === 1 && headers[at - 1]?.toLowerCase() === header ? value : one,
    ),
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
