import { type InstallationId, parseId, type SourceName } from '../domain/ids.js';
import type { EventSeen } from '../inbox/ports.js';
import type { SourceIndex } from './source-index.js';

/** Returns the sources whose feed an event concerns. Events that are not about investments change nothing in the feed. */
export function resolveSources(
  sources: Pick<SourceIndex, 'concerning'>,
  event: Pick<EventSeen, 'event' | 'installation' | 'company'>,
): readonly SourceName[] {
  if (!event.event.startsWith('investment.')) return [];
  return sources.concerning(event).map(({ name }) => name);
}

/** Returns the sources whose grant an `installation.*` event concerns. */
export function grantsOf(
  sources: Pick<SourceIndex, 'withInstallation'>,
  event: Pick<EventSeen, 'event' | 'installation' | 'test'>,
): readonly SourceName[] {
  if (event.test || !event.event.startsWith('installation.') || event.installation === '') return [];
  return sources.withInstallation(event.installation).map(({ name }) => name);
}

/** Returns the installation that an event says was created, changed or revoked; null for any other event. */
export function installationIn(
  event: Pick<EventSeen, 'event' | 'installation' | 'test'>,
): InstallationId | null {
  if (event.test || !event.event.startsWith('installation.')) return null;
  return parseId('installation', event.installation) ?? null;
}

/** Returns the sources whose companies and rounds an event may have changed. */
export function catalogOf(
  sources: Pick<SourceIndex, 'concerning'>,
  event: Pick<EventSeen, 'event' | 'installation' | 'company' | 'test'>,
): readonly SourceName[] {
  if (event.test || event.event.startsWith('investment.')) return [];
  return sources.concerning(event).map(({ name }) => name);
}
