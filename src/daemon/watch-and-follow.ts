import type { Membership } from '../fleet/membership.js';
import type { Following } from '../installations/follow-installations.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Engine, EngineParts } from './engine.js';
import { startFollowing } from './start-following.js';
import { openTokenWatch, type TokenWatch } from './watch-tokens.js';

export interface WatchedFollowing {
  /** To be started once every part that reads tokens is there. */
  readonly watch: TokenWatch;
  /** Null when there is nothing to follow and nothing to finish. */
  readonly following: Following | null;
}

/**
 * Opens the watch over tokens, then starts following what is installed: a rule goes on as soon as its token is replaced.
 * `followingParts` closes what follows.
 */
export async function watchAndFollow(
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
  followingParts: Lifecycle = lifecycle,
): Promise<WatchedFollowing> {
  const { config, clock, logger } = parts;
  let following: Following | null = null;
  const watch = await openTokenWatch({
    engine,
    rules: config.follows,
    onRule: () => following?.retry(),
    clock,
    logger: logger.child({ component: 'tokens' }),
  });
  lifecycle.add('watch over tokens', () => watch.close());
  following = await startFollowing(engine, parts, membership, followingParts);
  return { watch, following };
}
