import { grouped } from '../domain/counted.js';
import type { AlertKind, Condition, OpenAlert } from './ports.js';

/** Alerts that one kind may have for sources by themselves. Further ones share an alert. */
export const alertsOfKindMax = 20;

/** What the sources of a shared alert have in common, and the state that `rosterd sources list` gives them. */
const shared: Partial<Record<AlertKind, { readonly text: string; readonly state: string }>> = {
  halted: { text: 'wait for a person', state: 'halted' },
  held: { text: 'have rows that await deletion', state: 'attention' },
  quarantine: { text: 'have records in quarantine', state: 'attention' },
  stale: { text: 'have not been read in time', state: 'stale' },
  failing: { text: 'have been failing for long', state: 'failing' },
  quota_exhausted: { text: 'wait for their request quota', state: 'waiting' },
};

/** Returns whether an alert concerns several sources. */
export const isShared = ({ kind, source }: Pick<Condition, 'kind' | 'source'>): boolean =>
  source === null && shared[kind] !== undefined;

/**
 * Replaces the conditions of many sources by one shared condition for each kind, so that an outage sends some messages
 * and not one for each source. Sources that already have an alert keep it, and so do those in `named`, which a receiver
 * asked for. A shared alert ends when the others would take at most half of the room below the limit; these then get alerts
 * of their own. Pure function.
 */
export function aggregateConditions(
  present: readonly Condition[],
  open: readonly Pick<OpenAlert, 'kind' | 'source'>[],
  named: ReadonlySet<string>,
): readonly Condition[] {
  const own = new Set(open.map(({ kind, source }) => `${kind} ${source ?? ''}`));
  const byKind = new Map<AlertKind, Condition[]>();
  const kept: Condition[] = [];
  for (const condition of present) {
    const { kind, source } = condition;
    if (source === null || shared[kind] === undefined) kept.push(condition);
    else {
      const some = byKind.get(kind);
      if (some === undefined) byKind.set(kind, [condition]);
      else some.push(condition);
    }
  }
  for (const [kind, conditions] of byKind) {
    const isAlone = ({ source }: Condition) => named.has(source ?? '') || own.has(`${kind} ${source}`);
    const alone = conditions.filter(isAlone);
    const others = conditions.filter((condition) => !isAlone(condition));
    const isOpen = own.has(`${kind} `);
    const room = Math.max(0, alertsOfKindMax - alone.length);
    const most = isOpen ? Math.floor(room / 2) : room;
    kept.push(...alone, ...(others.length > most ? [sharedCondition(kind, conditions.length)] : others));
  }
  return kept;
}

function sharedCondition(kind: AlertKind, many: number): Condition {
  const { text, state } = shared[kind] ?? { text: 'have this problem', state: 'attention' };
  return {
    kind,
    source: null,
    text: `many sources ${text}, ${grouped(many)} at this time: rosterd sources list --state ${state}`,
  };
}
