import { instantFromMillis } from '../domain/instant.js';
import type { OpenVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';

export interface RotateVaultParts {
  readonly vault: Pick<OpenVault, 'encrypted'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly register: HealthRegister;
  /** In a fleet, the leader does the work. */
  leads(): boolean;
  /** Whether another daemon is known to lead. */
  isLed(): boolean;
}

/** A slice is a few milliseconds of work; between two slices the server is free. */
const sliceEntries = 50;
const sliceWaitMillis = 1_000;
const restMillis = 3_600_000;
/** How soon a daemon notices that it leads, or no longer does; also the wait after a fault. */
const lookMillis = 60_000;
const key = 'vault';

/** Encrypts entries under an older key with the first one, in the background: every hour, and once at the start. */
export function startVaultRotation(parts: RotateVaultParts): Closable {
  const { vault, clock, logger, register } = parts;
  let replaced = 0;
  let unreadable: string[] = [];
  /** On the monotonic clock: when the next pass begins. */
  let restsUntil = Number.NEGATIVE_INFINITY;

  const turn = async (): Promise<number> => {
    if (parts.isLed()) {
      // What this daemon found is for the new leader to find again.
      register.clear(key);
      [replaced, unreadable] = [0, []];
      restsUntil = Number.NEGATIVE_INFINITY;
    }
    if (!parts.leads()) return lookMillis;
    const rest = restsUntil - clock.monotonic();
    if (rest > 0) return Math.min(rest, lookMillis);
    const encrypted = await vault.encrypted();
    if (encrypted === null) return restMillis;
    const slice = await encrypted.reencrypt(sliceEntries);
    replaced += slice.replaced;
    unreadable.push(...slice.unreadable);
    if (slice.more) return sliceWaitMillis;
    if (replaced > 0) logger.info({ count: replaced }, 'vault entries encrypted with the first key');
    report(unreadable);
    [replaced, unreadable] = [0, []];
    restsUntil = clock.monotonic() + restMillis;
    return lookMillis;
  };

  const report = ([first, ...more]: readonly string[]) => {
    if (first === undefined) return register.clear(key);
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    register.report(key, {
      severity: 'attention',
      text: `no key in vault.keys decrypts the vault entry "${first}"${others}`,
      since: instantFromMillis(clock.now()),
    });
    logger.warn({ count: more.length + 1 }, 'vault entries do not decrypt with any listed key');
  };

  return startWakeableLoop(clock, new AbortController(), async () => {
    try {
      return await turn();
    } catch (error) {
      logger.warn({ error }, 'vault entries were not encrypted with the first key; it is tried again');
      return lookMillis;
    }
  });
}
