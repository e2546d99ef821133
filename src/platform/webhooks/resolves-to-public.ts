import { isIP } from 'node:net';
import type { SenderSettings } from './send.js';
import type { Target } from './url-policy.js';

/** A name that resolves slowly or not at all is accepted, because it is checked again on every connection. */
const lookupMillisMax = 1_000;

/** Detects a name that resolves to a private address when the endpoint is saved, before the first delivery. */
export async function resolvesToPublic(
  target: Target,
  settings: Pick<SenderSettings, 'resolve' | 'wall'>,
): Promise<boolean> {
  if (isIP(target.host) !== 0) return target.permits(target.host);
  const done = new AbortController();
  const addresses = settings.resolve(target.host).catch(() => []);
  const tooLate = settings.wall.wait(lookupMillisMax, done.signal).then(() => []);
  const found = await Promise.race([addresses, tooLate]);
  done.abort();
  return found.every((entry) => target.permits(entry.address));
}
