import { Problem } from '../../http/problem.js';
import { changeProfile, type Profile } from '../../investments/write.js';
import type { Services } from '../../services.js';
import { one } from '../../state/statements.js';

/** Closed accounts stand under this domain, each with an address made of its number. */
const ofClosedAccounts = '@users.invalid';

/** A person's profile as somebody at the controls wants it. An address is one person's alone, as on any sign-in. */
export function rewriteProfile(services: Services, userNo: number, profile: Profile, now: number): void {
  const email = profile.email.toLowerCase();
  const held =
    email.endsWith(ofClosedAccounts) ||
    one(services.state, 'SELECT 1 FROM users WHERE lower(email) = ? AND no <> ?', [email, userNo]) !==
      undefined;
  if (held)
    throw new Problem(422, 'unprocessable_entity', 'investor.email: another account has this address.');
  changeProfile(services, userNo, profile, now);
}
