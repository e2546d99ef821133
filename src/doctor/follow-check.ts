import { listInstallations } from '../client/installations.js';
import { staticToken } from '../client/tokens/static-token.js';
import type { FollowRule } from '../config/config.js';
import type { PlatformSession } from '../daemon/platform-session.js';
import { counted } from '../domain/counted.js';
import { isFault } from '../domain/fault.js';
import type { Interruption } from '../runtime/interruption.js';
import { type Check, failedBy, pass, skip, warn } from './check.js';

/** Checks that the account of a follow rule sees the installations of its application. */
export async function followCheck(
  { rule, access, target }: FollowRule,
  reachable: boolean,
  session: PlatformSession,
  signal: Interruption,
): Promise<Check> {
  const check = `follow.${rule}`;
  if (!reachable) return skip(check, 'the platform cannot be reached');
  const signIn = access.kind === 'credentials' ? `rosterd connect --rule ${rule}` : 'rosterd config show';
  try {
    const token = await session.storedToken(access);
    const api = session.client.as(staticToken(() => token));
    const { installations, isComplete } = await listInstallations(api, signal);
    const active = installations.filter((one) => one.status === 'active' && one.target.type === target);
    const told = `${counted(active.length, 'active installation')}`;
    return isComplete
      ? pass(check, told)
      : warn(check, `${told}, and the list is incomplete`, `rosterd sources list --rule ${rule}`);
  } catch (error) {
    if (isFault(error, 'forbidden'))
      return failedBy(check, error, `sign in as a manager of the application's organization: ${signIn}`);
    return failedBy(check, error, signIn);
  }
}
