import type { SourceConfig } from '../config/config.js';
import type { SourceName } from '../domain/ids.js';
import type { EventSeen } from '../inbox/ports.js';

/**
 * Returns the sources an event concerns. A source with a configured installation matches by it, otherwise by its
 * company; a source with neither matches every investment event. Other events change nothing in the feed.
 */
export function resolveSources(
  sources: readonly SourceConfig[],
  event: Pick<EventSeen, 'event' | 'installation' | 'company'>,
): readonly SourceName[] {
  if (!event.event.startsWith('investment.')) return [];
  return sources.filter((source) => concerns(source, event)).map(({ name }) => name);
}

/** Returns the sources whose grant an `installation.*` event concerns. */
export function grantsOf(
  sources: readonly SourceConfig[],
  event: Pick<EventSeen, 'event' | 'installation' | 'test'>,
): readonly SourceName[] {
  if (event.test || !event.event.startsWith('installation.') || event.installation === '') return [];
  return sources.filter(({ installation }) => installation === event.installation).map(({ name }) => name);
}

/** Returns the sources whose companies and rounds an event may have changed. */
export function catalogOf(
  sources: readonly SourceConfig[],
  event: Pick<EventSeen, 'event' | 'installation' | 'company' | 'test'>,
): readonly SourceName[] {
  if (event.test || event.event.startsWith('investment.')) return [];
  return sources.filter((source) => concerns(source, event)).map(({ name }) => name);
}

function concerns(source: SourceConfig, event: Pick<EventSeen, 'installation' | 'company'>): boolean {
  if (source.installation !== null && event.installation !== '')
    return source.installation === event.installation;
  if (source.company !== null && event.company !== null) return source.company === event.company;
  return true;
}
