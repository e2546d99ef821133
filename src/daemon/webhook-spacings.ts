import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { WebhookSpacing, WebhookSpacings } from '../reading/webhook-spacing.js';
import type { Clock } from '../runtime/clock.js';
import type { SpacingSeen } from '../sync/spacing-seen.js';
import type { Sync } from '../sync/sync.js';

/** Returns the present spacing of webhook ticks of the sources that this daemon follows. */
export function webhookSpacings(
  sources: readonly { readonly name: SourceName }[],
  sync: Pick<Sync, 'spacingOf'>,
  clock: Clock,
): WebhookSpacings {
  const spacings: Record<string, WebhookSpacing> = {};
  for (const { name } of sources) {
    const spacing = spacingOf(sync.spacingOf(name), clock);
    if (spacing !== null) spacings[name] = spacing;
  }
  return spacings;
}

/** Returns at most `max` spacings: those that wait longest, if there are more. */
export function longestSpacings(spacings: WebhookSpacings, max: number): WebhookSpacings {
  const all = Object.entries(spacings);
  if (all.length <= max) return spacings;
  return Object.fromEntries(
    all.sort(([, one], [, other]) => other.wait_seconds - one.wait_seconds).slice(0, max),
  );
}

/** Returns the present spacing of one source; null when another daemon follows it. */
export const webhookSpacingOf = (
  name: SourceName,
  sync: Pick<Sync, 'spacingOf'>,
  clock: Clock,
): WebhookSpacing | null => spacingOf(sync.spacingOf(name), clock);

/** Returns null for a source that another daemon follows. */
function spacingOf({ gapMillis, waitMillis, reason, by }: SpacingSeen, clock: Clock): WebhookSpacing | null {
  if (reason === 'elsewhere' || reason === 'paused') return null;
  return {
    reason,
    gap_seconds: seconds(gapMillis),
    wait_seconds: seconds(waitMillis),
    quota:
      by === null
        ? null
        : {
            of: by.kind,
            limit: by.limit,
            left: by.left,
            resets_at: toTheSecond(clock.now() + by.resetsInMillis),
            shared_by: by.sharing + by.elsewhere,
            shared_elsewhere: by.elsewhere,
          },
  };
}

const seconds = (millis: number): number => Math.round(millis) / 1000;

const toTheSecond = (millis: number): Instant => instantFromMillis(Math.ceil(millis / 1000) * 1000);
