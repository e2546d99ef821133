import type { Config } from '../config/config.js';
import { counted } from '../domain/counted.js';
import type { Resumed } from '../tasks/pause.js';
import type { CommandContext } from './command.js';
import { whyOf } from './commands/sources-list.js';
import { namesMax } from './named-sources.js';

export interface ResumedToPrint extends Resumed {
  /** The sources that were looked for. */
  readonly names: readonly string[];
  /** Whether that was every source. */
  readonly isAll: boolean;
}

/** Prints which sources sync again, the state of those that were named and not paused, and which are still paused. */
export async function printResumed(
  context: CommandContext,
  config: Config,
  { resumed, stillPaused, names, isAll }: ResumedToPrint,
): Promise<void> {
  const { out } = context;
  if (resumed.length > namesMax) out.line(`${counted(resumed.length, 'source')} resumed`);
  else if (resumed.length > 0) out.line(`resumed: ${resumed.join(', ')}`);
  else if (isAll) {
    out.line(`nothing to resume: ${noneOf(names)} paused`);
    out.note('What each source does: rosterd sources list');
  }
  const ended = new Set(resumed);
  const others = isAll ? [] : names.filter((name) => !ended.has(name));
  if (others.length > namesMax) out.line(`${counted(others.length, 'source')} not paused`);
  else if (others.length > 0) await printStates(context, config, others);
  if (stillPaused.length > namesMax)
    out.note(`${counted(stillPaused.length, 'source')} still paused: rosterd sources list --state paused`);
  else
    for (const { source, paused_at } of stillPaused) out.line(`${source}: still paused since ${paused_at}`);
}

function noneOf(names: readonly string[]): string {
  if (names.length === 0 || names.length > namesMax) return `none of ${counted(names.length, 'source')} is`;
  return names.length === 1 ? `${names[0]} is not` : `none of ${names.join(', ')} is`;
}

async function printStates(
  { out, io }: CommandContext,
  config: Config,
  names: readonly string[],
): Promise<void> {
  const { listSources } = await import('../reading/sources.js');
  const wanted = { search: '', state: null, rule: null, page: 1, limit: Number.MAX_SAFE_INTEGER };
  const { sources } = await listSources(config.database, io.clock, config, [], wanted);
  for (const name of names) {
    const found = sources.find(({ source }) => source === name);
    const why = found === undefined || found.overall === 'fine' ? '' : `: ${whyOf(found)}`;
    out.line(`${name}: not paused; its state is ${found?.overall ?? 'unknown'}${why}`);
    out.note(`More about it: rosterd sources show ${name}`);
  }
}
