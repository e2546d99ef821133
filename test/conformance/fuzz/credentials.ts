import { allScopes } from '../../../src/platform/contract/scopes.js';
import { type LoneTokenWish, mintToken } from '../../../src/platform/oauth/mint.js';
import { one } from '../../../src/platform/state/statements.js';
import { type CastName, makeCast } from '../matrix/cast.js';
import type { RunningPlatform } from '../running-platform.js';

/** One way to authenticate; undefined sends no credential. The token may depend on the requested scopes. */
export interface Credential {
  readonly kind: string;
  token(scopes: readonly string[] | null): string | undefined;
}

const broken: readonly CastName[] = [
  'none',
  'garbage',
  'expired',
  'revoked',
  'publishable',
  'publishableOther',
];
const strangers: readonly CastName[] = [
  'developer',
  'otherFounder',
  'investor',
  'installOther',
  'syndicateKey',
];

/**
 * Each kind of credential: valid ones that reach the seeded data with every scope, those of a stranger with only
 * the requested scope, and invalid ones. The sandbox grants the attribution scopes of a program to no application;
 * here every credential gets them.
 */
export function credentialsOf(world: RunningPlatform): readonly Credential[] {
  const { services, ready } = world;
  const cast = makeCast(world, 'test');
  const number = (table: 'applications' | 'syndicates'): number =>
    one<{ no: number }>(services.state, `SELECT no FROM ${table} ORDER BY no LIMIT 1`)?.no ?? 0;
  const all = allScopes.filter((scope) => !/^(?:admin:|read:mcp)/.test(scope));
  const lone = (wish: DistributiveOmit<LoneTokenWish, 'realm' | 'applicationNo' | 'scopes'>): string =>
    mintToken(
      services,
      { ...wish, realm: 'test', applicationNo: number('applications'), scopes: all },
      services.clock.now(),
    ).token;
  const fixed = (kind: string, token: string): Credential => ({ kind, token: () => token });
  const fitting = (kind: CastName): Credential => ({
    kind,
    token: (scopes) => cast.token(kind, { scopes }) ?? undefined,
  });
  return [
    ...ready.users.map(({ token, email }) => fixed(`user ${email.split('@')[0]}`, token)),
    ...ready.users.slice(0, 2).map(({ liveToken }, index) => fixed(`live user ${index}`, liveToken)),
    ...ready.companies.flatMap((company, index) => [
      fixed(`company ${index}`, company.token),
      fixed(`company ${index} without identity`, company.tokenWithoutIdentity),
    ]),
    ...ready.syndicates.map(({ token }, index) => fixed(`syndicate ${index}`, token)),
    fixed('syndicate key', lone({ kind: 'syndicate_key', syndicateNo: number('syndicates') })),
    fixed('application', lone({ kind: 'application' })),
    ...[...broken, ...strangers].map(fitting),
  ];
}

type DistributiveOmit<T, Keys extends PropertyKey> = T extends unknown ? Omit<T, Keys> : never;
