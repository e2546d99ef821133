import type { Config, SourceConfig } from '../config/config.js';
import { isFault } from '../domain/fault.js';
import type { InstallationId, SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { Realm } from '../installations/ports.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { followedSource } from './followed-source.js';

interface Row {
  readonly source: SourceName;
  readonly rule: string;
  readonly realm: Realm;
  readonly target: string;
  readonly installation: InstallationId;
  readonly connectedAt: Instant | null;
}

/** Returns the listed sources and the followed ones that are connected, for commands that run once. */
export async function storedSources(config: Config): Promise<readonly SourceConfig[]> {
  if (config.follows.length === 0) return config.sources;
  const rules = new Map(config.follows.map((rule) => [rule.rule, rule]));
  const listed = new Set(config.sources.map(({ name }) => name));
  const followed = (await connectedRows(config)).flatMap((row) => {
    const rule = rules.get(row.rule);
    return rule === undefined || listed.has(row.source) ? [] : [followedSource(rule, row)];
  });
  return [...config.sources, ...followed];
}

async function connectedRows({ database }: Config): Promise<readonly Row[]> {
  try {
    return await dialectFor(database).inSnapshot(
      (ask) => ask<Row>`
        SELECT source, rule, realm, target, installation, connected_at AS "connectedAt" FROM followed_sources
        WHERE state = 'connected' ORDER BY source`,
    );
  } catch (error) {
    // There is no mirror yet; the command itself reports a mirror that cannot be used.
    if (isFault(error, 'database_unusable')) return [];
    throw error;
  }
}
