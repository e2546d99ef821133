import type { SourceName } from '../domain/ids.js';
import type { Holdings } from './ports.js';

export interface Share {
  readonly take: readonly SourceName[];
  readonly release: readonly SourceName[];
}

/**
 * Returns what one member should claim and release so that sources are spread evenly. Every member computes this from
 * the same table and gets the same shares. Sources that the same members can work are divided evenly among them. A
 * remainder goes to the members that hold most already, so that as few sources as possible move. No source is taken
 * from a living member: members with too many release some, members with too few claim free ones. `busy` sources are
 * released last, and those that this member is `leaving` already count as the first.
 */
export function shareOf(
  me: string,
  { members, held }: Holdings,
  busy: (source: SourceName) => boolean = () => false,
  leaving: (source: SourceName) => boolean = () => false,
): Share {
  const take: SourceName[] = [];
  const release: SourceName[] = [];
  const known = new Set<SourceName>();
  for (const { able, sources } of groupsOf(members)) {
    for (const source of sources) known.add(source);
    const mine = sources.filter((source) => held.get(source) === me);
    if (!able.includes(me)) {
      // Sources that this member can no longer work.
      release.push(...mine);
      continue;
    }
    const quota = quotaOf(me, able, sources, held);
    const rank = (source: SourceName) => (leaving(source) ? -1 : busy(source) ? 1 : 0);
    const surplus = Math.max(0, mine.length - quota);
    release.push(...mine.toSorted((a, b) => rank(a) - rank(b)).slice(0, surplus));
    const free = sources.filter((source) => !held.has(source));
    take.push(...free.slice(0, Math.max(0, quota - mine.length)));
  }
  // Sources held by this member that no configuration has any more.
  for (const [source, member] of held) if (member === me && !known.has(source)) release.push(source);
  return { take, release };
}

interface Group {
  readonly able: readonly string[];
  readonly sources: readonly SourceName[];
}

/**
 * Groups sources by the members that can work them. Usually all members have the same configuration and there is one
 * group.
 */
function groupsOf(members: Holdings['members']): readonly Group[] {
  const ableOf = new Map<SourceName, string[]>();
  for (const { member, sources } of [...members].sort((a, b) => order(a.member, b.member)))
    for (const source of sources) {
      const able = ableOf.get(source) ?? [];
      able.push(member);
      ableOf.set(source, able);
    }
  const groups = new Map<string, { able: readonly string[]; sources: SourceName[] }>();
  for (const [source, able] of ableOf) {
    const key = able.join('\n');
    const group = groups.get(key) ?? { able, sources: [] };
    group.sources.push(source);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function quotaOf(
  me: string,
  able: readonly string[],
  sources: readonly SourceName[],
  held: Holdings['held'],
): number {
  const counts = new Map<string, number>();
  for (const source of sources) {
    const member = held.get(source);
    if (member !== undefined) counts.set(member, (counts.get(member) ?? 0) + 1);
  }
  const ranked = [...able].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || order(a, b));
  const more = ranked.indexOf(me) < sources.length % able.length ? 1 : 0;
  return Math.floor(sources.length / able.length) + more;
}

/** Two members never have the same name. */
const order = (a: string, b: string): number => (a < b ? -1 : 1);
