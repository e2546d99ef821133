import type { RoundRecord } from './collections/rounds.js';
import type { Row } from './ports.js';

/**
 * Returns what people call each round, by id. The platform's own name wins. Without one:
 *
 *   exemption, security and year of opening: "Reg CF SAFE 2025"; reservations: "Reg CF SAFE 2025 reservations"
 *
 * A part that is unknown is left out. Rounds of one company that would have the same name get the day they opened:
 * "Reg CF SAFE 2025, opened 2025-03-14". Where even that is the same, the last four characters of the id follow.
 */
export function nameRounds(rounds: readonly RoundRecord[]): ReadonlyMap<string, string> {
  const names = new Map(rounds.map((round) => [idOf(round), baseName(round)]));
  for (const suffix of [openedOn, shortId])
    for (const twins of sameNamed(rounds, names))
      for (const round of twins) names.set(idOf(round), `${names.get(idOf(round))}${suffix(round)}`);
  return names;
}

const idOf = ({ row }: RoundRecord): string => String(row.id);

function baseName({ row, given, security, dated }: RoundRecord): string {
  if (given !== null && given.trim() !== '') return given.trim();
  const parts = [
    row.exemption,
    security,
    dated?.slice(0, 4),
    row.testing_the_waters === 1 ? 'reservations' : null,
  ];
  const known = parts.filter((part) => part != null && part !== '');
  return known.length === 0 ? 'Round' : known.join(' ');
}

function openedOn({ dated }: RoundRecord): string {
  return dated === null ? '' : `, opened ${dated.slice(0, 10)}`;
}

const shortId = ({ row }: Pick<RoundRecord, 'row'>): string => ` (…${String(row.id).slice(-4)})`;

/**
 * A round whose response cannot be read: as it is stored. Its name is made from what `before` says or, after a restart, from
 * the stored name without what tells it from its twins, so that they keep their names, too.
 */
export function keptRound(row: Row, before: RoundRecord | undefined): RoundRecord {
  if (before !== undefined) return { ...before, etag: null, row };
  const stored = typeof row.name === 'string' ? row.name : '';
  const ending = shortId({ row });
  const name = stored.endsWith(ending) ? stored.slice(0, -ending.length) : stored;
  const [, given = name, opened] = /^(.*), opened (\d{4}-\d\d-\d\d)$/s.exec(name) ?? [];
  const dated = opened ?? row.opened_at ?? row.closed_at;
  return {
    ...{ row, given, security: null, companyName: null, etag: null },
    dated: typeof dated === 'string' ? dated : null,
  };
}

/** Returns the groups of rounds of one company that have the same name. */
function sameNamed(
  rounds: readonly RoundRecord[],
  names: ReadonlyMap<string, string>,
): readonly (readonly RoundRecord[])[] {
  const groups = new Map<string, RoundRecord[]>();
  for (const round of rounds) {
    const key = JSON.stringify([round.row.company_id, names.get(idOf(round))]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [round]);
    else group.push(round);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}
