import { isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Membership } from '../fleet/membership.js';
import { type Following, followInstallations } from '../installations/follow-installations.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { applyFollowed } from './apply-followed.js';
import type { Engine, EngineParts } from './engine.js';
import { installationsApi } from './installations-api.js';

/** Other members of a fleet look for stored changes every two seconds. */
const noticeMillis = 10_000;

/**
 * Starts following what is installed. Returns null without a follow rule, and otherwise when the sources that were
 * connected before are part of the set.
 */
export async function startFollowing(
  engine: Engine,
  { config, clock, random, logger: root }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Promise<Following | null> {
  const { mirror, platform, vault, sources, sync, health } = engine;
  // Rows of rules that are gone have to be ended, too.
  if (config.follows.length === 0 && (await mirror.followed.list()).length === 0) return null;
  const logger = root.child({ component: 'installations' });
  const report = (key: string, problem: string | null, severity: 'attention' | 'ill' = 'attention') => {
    if (problem === null) health.clear(key);
    else health.report(key, { severity, text: problem, since: instantFromMillis(clock.now()) });
  };
  const following = followInstallations({
    rules: config.follows.map((rule) => ({ ...rule, api: installationsApi(platform, rule.access) })),
    store: mirror.followed,
    vault,
    eraser: mirror.eraser,
    onConnected: async (connected) => {
      const clashes = await applyFollowed(sources, config.follows, connected);
      report('followed-names', clashSentence(clashes));
    },
    takenNames: async () =>
      new Set([...sources.listed.map(({ name }) => name), ...(await storedNames(config))]),
    leads: () => membership.leads,
    noticeMillis: mirror.fleet === null ? 0 : noticeMillis,
    onAsked: (rule, error) => report(`follow.${rule}`, error === null ? null : problemOf(rule, error)),
    clock,
    random,
    logger,
  });
  lifecycle.add('installations', () => following.close());
  lifecycle.add(
    'refused tokens',
    sync.onTick((source, { report: { code } }) => {
      if (code !== 'unauthorized' && code !== 'usage') return;
      if (sources.find(source)?.followed !== undefined) following.refused(source);
    }),
  );
  await following.ready;
  return following;
}

function clashSentence(names: readonly SourceName[]): string | null {
  if (names.length === 0) return null;
  const shown = names.slice(0, 3).join(', ');
  return `${names.length} followed sources have the name of a listed one and are not synced: ${shown}; rename the listed source`;
}

function problemOf(rule: string, error: unknown): string {
  const why = isFault(error) ? error.message : 'an unexpected error, which the log has';
  return `the installations of "${rule}" cannot be read: ${why}`;
}

/** Returns the names of all sources that the database has rows of. */
async function storedNames({ database }: EngineParts['config']): Promise<readonly string[]> {
  const rows = await dialectFor(database).inSnapshot(
    async (ask) => await ask<{ readonly name: string }>`SELECT name FROM sources`,
  );
  return rows.map(({ name }) => name);
}
