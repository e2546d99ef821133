import { accessTokenSeconds, clientCredentialsSeconds } from '../../wire/limits.js';
import type { Services } from '../services.js';
import { digestOf, newSecret, type Realm } from '../state/secrets.js';
import { run } from '../state/statements.js';

/** The services needed to create tokens. The sandbox seed has these before the platform exists. */
export type Minting = Pick<Services, 'state' | 'random'>;

export type TokenWish = {
  readonly realm: Realm;
  readonly applicationNo: number;
  readonly scopes: readonly string[];
} & (
  | { readonly kind: 'user'; readonly userNo: number; readonly family: string }
  | { readonly kind: 'installation'; readonly installationNo: number }
  | { readonly kind: 'syndicate_key'; readonly syndicateNo: number }
  | { readonly kind: 'application' }
);

export interface MintedToken {
  readonly no: number;
  readonly token: string;
  readonly expiresAt: number | null;
}

const lifetimeSeconds = {
  user: accessTokenSeconds,
  application: clientCredentialsSeconds,
  installation: null,
  syndicate_key: null,
} as const;

/** The only function that creates access tokens. The value is returned but only its digest is stored. */
export function insertToken(services: Minting, wish: TokenWish, now: number): MintedToken {
  const token = newSecret(services.random, `at_${wish.realm}_`);
  const seconds = lifetimeSeconds[wish.kind];
  const expiresAt = seconds === null ? null : now + seconds * 1000;
  const { no } = run(
    services.state,
    `INSERT INTO access_tokens (digest, realm, kind, application_no, user_no, installation_no, syndicate_no, family,
       scopes, created_at, expires_at)
     VALUES ($digest, $realm, $kind, $application, $user, $installation, $syndicate, $family, $scopes, $now, $expires)`,
    {
      digest: digestOf(token),
      realm: wish.realm,
      kind: wish.kind,
      application: wish.applicationNo,
      user: wish.kind === 'user' ? wish.userNo : null,
      installation: wish.kind === 'installation' ? wish.installationNo : null,
      syndicate: wish.kind === 'syndicate_key' ? wish.syndicateNo : null,
      family: wish.kind === 'user' ? wish.family : null,
      scopes: wish.scopes.join(' '),
      now,
      expires: expiresAt,
    },
  );
  return { no, token, expiresAt };
}
