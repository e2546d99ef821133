import type { WebhookEndpoint } from '../client/webhook-endpoints.js';
import { Fault } from '../domain/fault.js';
import { isSameAddress } from './same-address.js';

/** The only fields of the configuration that identify an endpoint. */
interface Wanted {
  readonly publicUrl: string;
  readonly mode: string;
}

/** The platform shows the host and this many last characters of the address of a bound endpoint. */
const hintCharacters = 6;

/**
 * Returns the bound endpoint that makes the platform refuse another one with our address (409): the state file was
 * lost, and the endpoint has other events. The platform hides its address, so it is recognized by the shown part. Throws
 * the refusal with what to do when that is not exactly one.
 */
export function conflictingEndpoint(
  listed: readonly WebhookEndpoint[],
  { publicUrl, mode }: Wanted,
  refusal: Fault,
): WebhookEndpoint {
  const bound = listed.filter((endpoint) => endpoint.installation !== null && endpoint.mode === mode);
  const [found, ...others] = bound.filter(({ urlHint }) => urlHint !== null && shows(urlHint, publicUrl));
  if (found !== undefined && others.length === 0) return found;
  throw new Fault(refusal.code, refusal.message, {
    ...refusal.about,
    hint: 'the platform has an endpoint for this address, and its state file is lost: find it with `rosterd endpoints list`, delete it with `rosterd endpoints delete ID`; the daemon then creates one',
    cause: refusal,
  });
}

/**
 * Returns the endpoints of another mode that have our address, such as the one of this daemon before its mode was changed.
 * Only their own secrets verify their deliveries.
 */
export function ofOtherMode(
  listed: readonly WebhookEndpoint[],
  { publicUrl, mode }: Wanted,
): readonly WebhookEndpoint[] {
  return listed.filter(
    ({ mode: other, url, urlHint }) =>
      other !== mode &&
      (url === null ? urlHint !== null && shows(urlHint, publicUrl) : isSameAddress(url, publicUrl)),
  );
}

function shows(hint: string, url: string): boolean {
  return showsHost(hint, url) && hint.endsWith(url.slice(-hintCharacters));
}

/** Whether the shown part of an address is one of the host of `url`. */
export function showsHost(hint: string, url: string): boolean {
  return hint.toLowerCase().includes(new URL(url).host);
}
