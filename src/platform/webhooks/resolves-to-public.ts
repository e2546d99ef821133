import { isIP } from 'node:net';
import type { SenderSettings } from './send.js';
import type { Target } from './url-policy.js';

/** A name that resolves slowly or not at all is not refused for that: it is judged again at every connect. */
const lookupMillisMax = 1_000;

/** Tells early what every delivery would be told: a name that leads to a private address. */
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
