import { Problem } from '../../http/problem.js';
import { changeProfile, type Profile } from '../../investments/write.js';
import type { Services } from '../../services.js';
import { one } from '../../state/statements.js';

/** Email domain of closed accounts. The local part is the row number. */
const ofClosedAccounts = '@users.invalid';

/** Changes a user's profile by a control call. Throws a 422 if another account has the email. */
export function rewriteProfile(services: Services, userNo: number, profile: Profile, now: number): void {
  const email = profile.email.toLowerCase();
  const taken =
    email.endsWith(ofClosedAccounts) ||
    one(services.state, 'SELECT 1 FROM users WHERE lower(email) = ? AND no <> ?', [email, userNo]) !==
      undefined;
  if (taken)
    throw new Problem(422, 'unprocessable_entity', 'investor.email: another account has this email.');
  changeProfile(services, userNo, profile, now);
}
