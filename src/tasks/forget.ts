import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import { parseId } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Forgotten, PersonOrInvestment } from '../store/erasures.js';
import { afterErasing, type ErasedReceipt, retriedWhileBusy, withMirror } from './erasure-steps.js';

export interface ForgetReceipt extends ErasedReceipt {
  readonly id: string;
  /** Investments whose stored identity was erased. */
  readonly identities: number;
  /** Whether the id was forgotten before. */
  readonly already: boolean;
  readonly invisible_at: Instant;
}

/** Parses an id. Throws `usage` for anything else without quoting it, because it may be a person's name. */
export function personOrInvestment(text: string): PersonOrInvestment {
  const id = parseId('investment', text) ?? parseId('user', text);
  if (id !== undefined) return id;
  throw new Fault('usage', 'the argument is neither the id of an investment nor of an investor', {
    hint: 'give an id: inv_… for one investment, usr_… for everything of an investor',
  });
}

/**
 * Forgets a person or an investment, with or without a running daemon. First the request is written to the ledger
 * outside the database, so that no crash and no restored backup undoes it. Then one transaction erases the identity
 * and blocks the platform from bringing it back. Last the bytes are scrubbed, unless a reader blocks it.
 */
export async function forget(
  config: Config,
  id: PersonOrInvestment,
  clock: Clock,
  signal: AbortSignal,
): Promise<ForgetReceipt> {
  return withMirror(config, clock, signal, async (mirror, ledger) => {
    const attempts: Forgotten[] = [];
    const last = await retriedWhileBusy(clock, signal, () =>
      mirror.erasures.forget(id, (since, forgotten) => {
        ledger.add([{ ...since, event: 'forgotten' }]);
        attempts.push(forgotten);
      }),
    );
    // The answer to a commit may be lost with the connection. The next attempt then finds the id forgotten already.
    const { identities, already, invisibleAt } = last.already ? (attempts[0] ?? last) : last;
    const receipt = await afterErasing(config, mirror, clock, signal);
    return { id, identities, already, invisible_at: invisibleAt, ...receipt };
  });
}

/** Allows the identity of an id to be stored again. Returns false when it was not forgotten. */
export function liftForgotten(
  config: Config,
  id: PersonOrInvestment,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  return withMirror(config, clock, signal, async ({ erasures }, ledger) => {
    const request = (await erasures.forgotten()).find((one) => one.id === id);
    const lifted = await retriedWhileBusy(clock, signal, () => erasures.lift(id));
    // With the time of the request: a clock that is ahead would lift later requests of other hosts, too.
    if (lifted && request !== undefined) ledger.add([{ id, event: 'lifted', at: request.at }]);
    return lifted;
  });
}
