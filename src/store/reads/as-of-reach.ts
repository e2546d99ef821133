import { presentState } from '../../domain/as-of.js';
import { Fault } from '../../domain/fault.js';
import type { Instant } from '../../domain/instant.js';

/** How far back the history of a source reaches, as the table `sources` has it. */
export interface SourceReach {
  readonly name: string;
  /** Null until its first listing is complete. */
  readonly listed_at: string | null;
  /** Versions superseded before this time were purged; null if none was. */
  readonly history_from: string | null;
}

/** A source that the mirror did not have at the requested time. */
export interface YoungerSource {
  readonly source: string;
  readonly from: string;
}

/**
 * Returns the sources whose first listing was published after `at`. Throws `usage` when the history of a source was
 * purged up to a later time, and when the mirror had none of the sources yet: a partial past would look complete. `of`
 * names the sources in that message.
 */
export function sourcesYoungerThan(
  at: Instant,
  sources: readonly SourceReach[],
  of = 'this mirror',
): readonly YoungerSource[] {
  const purged = latest(sources, ({ history_from }) => history_from);
  if (purged?.from !== undefined && purged.from > at) throw historyPurged(purged.source, purged.from, at);
  const began = sources.flatMap(({ name, listed_at: from }) =>
    from === null ? [] : [{ source: name, from }],
  );
  const younger = began.filter(({ from }) => from > at);
  if (at === presentState || younger.length < began.length) return younger;
  const first = began.map(({ from }) => from).sort()[0];
  throw first === undefined
    ? new Fault('usage', `${of} has no history yet: no first listing is complete`, {
        hint: 'rosterd status shows how far the listing is.',
      })
    : new Fault('usage', `the history of ${of} begins at ${first}, after ${at}`, {
        hint: 'Ask for a later time. A mirror knows nothing of the time before its first listing.',
      });
}

export function historyPurged(source: string, from: string, at: Instant): Fault {
  return new Fault('usage', `the history of ${source} reaches back to ${from}, not to ${at}`, {
    hint: 'Ask for a later moment. history.keepDays says how long superseded versions are kept.',
  });
}

function latest(
  sources: readonly SourceReach[],
  time: (source: SourceReach) => string | null,
): YoungerSource | undefined {
  return sources
    .flatMap((source) => {
      const from = time(source);
      return from === null ? [] : [{ source: source.name, from }];
    })
    .sort((one, other) => (one.from < other.from ? 1 : -1))[0];
}
