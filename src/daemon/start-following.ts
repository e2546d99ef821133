import type { PlatformTime } from '../client/platform-time.js';
import { type FaultCode, isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import { alone, type Membership } from '../fleet/membership.js';
import { type Following, followInstallations } from '../installations/follow-installations.js';
import { type FollowingParts, InstallationFollower } from '../installations/installation-follower.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { applyFollowed } from './apply-followed.js';
import type { Engine, EngineParts } from './engine.js';
import { installationsApi } from './installations-api.js';

/** Other members of a fleet look for stored changes every two seconds. */
const noticeMillis = 10_000;

/**
 * Starts following what is installed, and finishes interrupted erasures. Resolves once the sources that were connected
 * before are part of the set; with null when there is nothing to follow and nothing to finish.
 */
export async function startFollowing(
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Promise<Following | null> {
  const { sources, sync, mirror } = engine;
  // Ends rows of removed rules, too, and finishes an interrupted erasure.
  if (
    parts.config.follows.length === 0 &&
    (await mirror.followed.list()).length === 0 &&
    (await mirror.eraser.unfinished()).length === 0
  )
    return null;
  const following = followInstallations(
    followingParts(engine, parts, membership, (source) => {
      sync.recheck(source);
      if (!membership.worksHere(source)) membership.tell({ kind: 'recheck', sources: [source] });
    }),
  );
  lifecycle.add('installations', () => following.close());
  lifecycle.add(
    'refused tokens',
    sync.onTick((source, { report: { code } }) => {
      const followed = refusals.has(code) ? sources.find(source) : undefined;
      if (followed?.followed === undefined || followed.installation === null) return;
      if (membership.isLed) membership.tell({ kind: 'installed', installations: [followed.installation] });
      else following.refused(source);
    }),
  );
  await following.ready;
  return following;
}

/** What a tick reports when the platform refuses a token, or the vault has none. */
const refusals = new Set<FaultCode | null>(['unauthorized', 'reauthorize']);

/** More than one command needs: each turn does what is due. */
const turnsMax = 1_000;

/**
 * Asks the platform once what is installed, and connects and disconnects sources. Returns why a rule could not be followed
 * to its end.
 */
export async function followOnce(
  engine: Engine,
  parts: EngineParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, unknown>> {
  const failed = new Map<string, unknown>();
  const follower = new InstallationFollower({
    ...followingParts(engine, parts, alone, () => {}),
    onAsked: (rule, error) => {
      if (error === null) failed.delete(rule);
      else failed.set(rule, error);
    },
  });
  for (let turns = 0; turns < turnsMax && !signal.aborted; turns += 1)
    if ((await follower.turn(signal)) > 0) break;
  return failed;
}

function followingParts(
  { mirror, platform, vault, sources, health }: Engine,
  { config, clock, random, logger }: EngineParts,
  membership: Membership,
  onAccepted: (source: SourceName) => void,
): FollowingParts {
  const report = (key: string, problem: string | null) =>
    health.attention(key, problem, instantFromMillis(clock.now()));
  return {
    rules: config.follows.map((rule) => ({ ...rule, api: installationsApi(platform, rule.access) })),
    store: mirror.followed,
    vault,
    eraser: mirror.eraser,
    onConnected: async (connected) =>
      report('followed-names', clashSentence(await applyFollowed(sources, config.follows, connected))),
    takenNames: async () =>
      new Set([...sources.listed.map(({ name }) => name), ...(await storedNames(config))]),
    leads: () => membership.leads,
    isLed: () => membership.isLed,
    passOn: (installations) => membership.tell({ kind: 'installed', installations }),
    trustedNow: () => trustedNow(platform.client.time),
    platformNow: () => platformNow(platform.client.time),
    onAccepted,
    noticeMillis: mirror.fleet === null ? 0 : noticeMillis,
    onTurn: (error) =>
      report(
        'followed-rows',
        error === null ? null : `followed sources cannot be read or stored: ${whyOf(error)}`,
      ),
    onAsked: (rule, error) => report(`follow.${rule}`, error === null ? null : problemOf(rule, error)),
    clock,
    random,
    logger: logger.child({ component: 'installations' }),
  };
}

function clashSentence(names: readonly SourceName[]): string | null {
  if (names.length === 0) return null;
  const shown = names.slice(0, 3).join(', ');
  return `${names.length} followed sources have the name of a listed one and are not synced: ${shown}; rename the listed source`;
}

function problemOf(rule: string, error: unknown): string {
  return `the installations of "${rule}" cannot be followed: ${whyOf(error)}`;
}

const whyOf = (error: unknown): string =>
  isFault(error) ? error.message : 'an unexpected error, which the log has';

/** A reading of the platform's clock this old is good enough for days. */
const readingMillisMax = 2 * 3_600_000;

/** Returns the earlier of both clocks; null when the platform's is not known, or a local clock was set since. */
function trustedNow(time: PlatformTime): number | null {
  const now = platformNow(time);
  return now === null ? null : Math.min(now, time.clock.now());
}

/** Returns the platform's time; null when it is not known, or a local clock was set since. */
function platformNow(time: PlatformTime): number | null {
  return time.isUnsure || time.sinceObservedMillis > readingMillisMax ? null : time.now();
}

/** Returns the names of all sources that the database has rows of. */
async function storedNames({ database }: EngineParts['config']): Promise<readonly string[]> {
  const rows = await dialectFor(database).inSnapshot(
    async (ask) => await ask<{ readonly name: string }>`SELECT name FROM sources`,
  );
  return rows.map(({ name }) => name);
}
