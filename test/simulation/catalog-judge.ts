import type { Counters } from './counters.js';
import { companyText, type FakeCatalog, postText, type RoundNow, roundText } from './fake-catalog.js';
import type { SourcePlan } from './machine.js';
import type { Reader } from './reader.js';
import type { Truth } from './truth.js';

export interface CatalogJudgeParts {
  readonly truth: Truth;
  readonly catalog: FakeCatalog;
  readonly sources: readonly SourcePlan[];
  readonly counters: Counters;
  /** Whether a round may leave the mirror although the platform serves it: its token lost the scope for a while. */
  readonly mayVanish: boolean;
  readonly violate: (invariant: string, what: string) => void;
}

interface CompanySeen {
  readonly source: string;
  readonly id: string;
  readonly name: string | null;
  readonly text: string;
  readonly unavailable: string | null;
}

interface RoundSeen extends CompanySeen {
  readonly valid_from: string;
}

interface PostSeen {
  readonly source: string;
  readonly id: string;
  readonly text: string;
}

const textOf = (...columns: readonly string[]) =>
  columns.map((column) => `coalesce(CAST(${column} AS text), '')`).join(" || '|' || ");

const companiesQuery = `SELECT source, id, name, unavailable,
  ${textOf('name', 'slug', 'tagline', 'status', 'current_round_id')} AS text FROM companies ORDER BY source, id`;
const roundColumns = textOf(
  ...[
    'company_id',
    'kind',
    'exemption',
    'status',
    'testing_the_waters',
    'target_cents',
    'raised_cents_reported',
  ],
  ...['investor_count_reported', 'opened_at', 'closes_at', 'closed_at'],
);
const roundsQuery = `SELECT source, id, name, unavailable, valid_from, ${roundColumns} AS text
  FROM rounds ORDER BY source, id`;
const postsQuery = `SELECT source, id, ${textOf('company_id', 'title', 'published_at', 'pinned')} AS text
  FROM company_updates ORDER BY source, id`;
const statsQuery = `SELECT source, offering_id AS id,
  ${textOf('status', 'investments', 'committed_cents', 'raised_cents')} AS text FROM round_stats`;

/** The tables of the collections that have versions, and of their superseded versions. */
const versioned = [
  { about: 'company', rows: 'company_rows', history: 'company_history_rows' },
  { about: 'round', rows: 'offering_rows', history: 'offering_history_rows' },
  { about: 'update', rows: 'update_rows', history: null },
] as const;

interface Change {
  readonly source_no: number;
  readonly about: string;
  readonly id: string;
  readonly kind: string;
  readonly seq: number;
  readonly at: string;
  readonly old_values: string | null;
  readonly new_values: string | null;
}

interface Version {
  readonly source_no: number;
  readonly id: string;
  readonly valid_from: string;
  readonly change_seq: number;
}

interface Superseded extends Version {
  readonly valid_to: string;
  readonly ended_by: string;
}

/** What the rounds of a source read at a time at which it committed. */
interface Snapshot {
  readonly source: string;
  readonly at: string;
  readonly rounds: string;
}

/** Compares companies, rounds, posts and stats in the mirror with those of the fake platform. */
export class CatalogJudge {
  readonly #rounds = new Map<string, readonly string[]>();
  #snapshots: Snapshot[] = [];

  constructor(readonly parts: CatalogJudgeParts) {}

  /** A power cut may lose the newest commits, and with them the times of what was seen. */
  machineDied(): void {
    this.#snapshots = [];
  }

  /** Checks C1 and C2 in what readers see at a commit. */
  look(reader: Reader): void {
    const rounds = reader.rows<RoundSeen>(roundsQuery);
    const companies = reader.rows<CompanySeen>(companiesQuery);
    for (const one of [...companies, ...rounds, ...reader.rows<PostSeen>(postsQuery)]) this.#wasServed(one);
    for (const source of this.parts.sources) this.#judgeAbsence(source, rounds);
  }

  /** C1: what the mirror shows as served, the platform served at some time. */
  #wasServed(seen: PostSeen & Partial<CompanySeen>): void {
    const { served } = this.parts.catalog;
    const texts = served.get(seen.id);
    if (texts === undefined) this.parts.violate('C1', `${seen.source} shows ${seen.id}, which never was`);
    else if (seen.unavailable == null && !texts.has(seen.text))
      this.parts.violate('C1', `${seen.source} ${seen.id} was never served as ${seen.text}`);
  }

  /** C2: a round leaves the mirror only when the platform no longer names it. Without the scope, investments name it. */
  #judgeAbsence({ name, account }: SourcePlan, rounds: readonly RoundSeen[]): void {
    const { catalog, mayVanish, violate } = this.parts;
    const ids = rounds.filter((one) => one.source === name).map(({ id }) => id);
    const gone = this.#rounds.get(name)?.find((id) => !ids.includes(id) && !catalog.unsettled.has(id));
    this.#rounds.set(name, ids);
    if (gone !== undefined && account.catalog && !mayVanish)
      violate('C2', `${name} lost ${gone}, which the platform always served`);
  }

  /** Remembers what readers see, to compare it with the history at the end. */
  remember(reader: Reader): void {
    const rounds = reader.rows<RoundSeen>(roundsQuery);
    for (const { name, at } of reader.rows<{ name: string; at: string | null }>(
      'SELECT name, last_committed_at AS at FROM sources',
    )) {
      if (at === null) continue;
      this.#snapshots = this.#snapshots.filter((one) => one.source !== name || one.at !== at);
      this.#snapshots.push({
        source: name,
        at,
        rounds: labelsOf(rounds.filter(({ source }) => source === name)),
      });
    }
    this.#snapshots = this.#snapshots.slice(-snapshotsMax);
  }

  /** C3: returns the first difference at rest, or undefined. Stats move with investments between two listings. */
  difference(reader: Reader, { withStats }: { readonly withStats: boolean }): string | undefined {
    const companies = reader.rows<CompanySeen>(companiesQuery);
    const rounds = reader.rows<RoundSeen>(roundsQuery);
    const posts = reader.rows<PostSeen>(postsQuery);
    const stats = withStats ? reader.rows<PostSeen>(statsQuery) : [];
    for (const source of this.parts.sources) {
      const own = <Row extends { readonly source: string }>(all: readonly Row[]) =>
        all.filter((one) => one.source === source.name);
      const found =
        this.#roundDifference(source, own(rounds)) ??
        this.#companyDifference(source, own(companies), own(rounds)) ??
        this.#postDifference(source, own(posts)) ??
        (withStats ? this.#statsDifference(source, own(rounds), own(stats)) : undefined);
      if (found !== undefined) return `${source.name}: ${found}`;
    }
    return undefined;
  }

  /** C5: whether readers see the round as it is served now. */
  shows(reader: Reader, source: SourcePlan, { id }: RoundNow): boolean {
    const round = this.parts.catalog.round(id);
    return reader
      .rows<RoundSeen>(roundsQuery)
      .some(
        (row) =>
          row.source === source.name && row.id === id && round !== undefined && row.text === roundText(round),
      );
  }

  /** Whether the record of the source's company is served to its token. */
  #isServed({ company, account }: SourcePlan): boolean {
    return account.catalog && this.parts.catalog.company(company)?.isHidden === false;
  }

  #companyDifference(
    source: SourcePlan,
    seen: readonly CompanySeen[],
    rounds: readonly RoundSeen[],
  ): string | undefined {
    const { catalog } = this.parts;
    const [row, ...others] = seen;
    const company = catalog.company(source.company);
    if (company === undefined || row?.id !== company.id || others.length > 0)
      return `shows the companies ${seen.map(({ id }) => id).join()} instead of ${source.company}`;
    if (this.#isServed(source)) {
      const must = companyText(company, catalog.roundsOf(company.id));
      if (row.unavailable !== null) return `says that ${row.id} is not served: ${row.unavailable}`;
      return row.text === must ? undefined : `${row.id} reads ${row.text} instead of ${must}`;
    }
    // A round that is served still names its company; otherwise nothing does.
    const name = rounds.some(({ unavailable }) => unavailable === null) ? company.name : null;
    const reason = source.account.catalog ? '404 not_found' : '403 insufficient_scope';
    if (row.unavailable !== reason)
      return `${row.id} is not served for ${row.unavailable} instead of ${reason}`;
    return row.text === `${name ?? ''}||||`
      ? undefined
      : `${row.id} reads ${row.text}, but only ${name} is known`;
  }

  #roundDifference(source: SourcePlan, seen: readonly RoundSeen[]): string | undefined {
    const { catalog } = this.parts;
    const rows = new Map(seen.map((row) => [row.id, row]));
    const must = new Map(
      catalog.roundsOf(source.company).flatMap((round) => {
        const shape = this.#shapeOf(source, round, rows.has(round.id));
        return shape === null ? [] : [[round.id, shape] as const];
      }),
    );
    const names = namesOf([...must.values()]);
    for (const [id, { text, reason }] of must) {
      const row = rows.get(id);
      if (row === undefined) return `${id} is missing`;
      if (row.unavailable !== reason)
        return `${id} is unavailable for ${row.unavailable} instead of ${reason}`;
      if (row.text !== text) return `${id} reads ${row.text} instead of ${text}`;
      if (row.name !== names.get(id)) return `${id} is called ${row.name} instead of ${names.get(id)}`;
    }
    const extra = seen.find(({ id }) => !must.has(id));
    return extra === undefined ? undefined : `${extra.id} is extra`;
  }

  /** Returns what is known of a round; null when nothing names it. One that was stored stays while it is served. */
  #shapeOf(source: SourcePlan, round: RoundNow, isStored: boolean): Shape | null {
    const { truth, catalog } = this.parts;
    const isInvested = [...truth.visible(source.company).values()].some(
      (one) => catalog.roundOf(one) === round.id,
    );
    const isNamed = round.isListed && this.#isServed(source);
    const { id, openedAt } = round;
    const { type, label } = round.security;
    if (source.account.catalog && !round.isHidden) {
      if (!isInvested && !isNamed && !isStored) return null;
      const parts = [round.exemption, label, openedAt.slice(0, 4), round.isReserving ? 'reservations' : ''];
      return { id, parts, name: round.name, openedAt, text: roundText(round), reason: null };
    }
    const reason = source.account.catalog ? '404 not_found' : '403 insufficient_scope';
    if (isNamed) {
      const money = ['', '', round.raised, round.investors, openedAt, '', round.closedAt ?? ''];
      const text = [round.company, type, round.exemption, round.status, ...money].join('|');
      const parts = [round.exemption, label, openedAt.slice(0, 4)];
      return { id, parts, name: null, openedAt, text, reason };
    }
    if (!isInvested) return null;
    // Only its investments say something of it: see `wireOf`.
    const text = `${round.company}||safe||||||||`;
    return { id, parts: ['safe', 'regd', '2026'], name: null, openedAt: '2026-05-01', text, reason };
  }

  #postDifference(source: SourcePlan, seen: readonly PostSeen[]): string | undefined {
    const posts = this.#isServed(source) ? this.parts.catalog.postsOf(source.company) : [];
    return differenceOf(
      'posts',
      seen.map(({ id, text }) => `${id} ${text}`),
      posts.map((post) => `${post.id} ${postText(post)}`),
    );
  }

  #statsDifference(
    source: SourcePlan,
    rounds: readonly RoundSeen[],
    seen: readonly PostSeen[],
  ): string | undefined {
    const { catalog, truth } = this.parts;
    const must = source.account.stats
      ? rounds.flatMap(({ id }) => {
          const round = catalog.round(id);
          if (round === undefined) return [];
          return [...catalog.statsOf(round, truth.head)].map(
            ([status, sums]) => `${id} ${[status, ...sums].join('|')}`,
          );
        })
      : [];
    return differenceOf(
      'stats',
      seen.map(({ id, text }) => `${id} ${text}`),
      must,
    );
  }

  /** C4: the change feed, the versions and the rows of companies, rounds and posts tell the same story. */
  ledgers(reader: Reader): void {
    const changes = reader.rows<Change>(
      `SELECT source_no, about, id, kind, seq, at, old_values, new_values FROM change_rows
       WHERE about IS NOT NULL ORDER BY seq`,
    );
    for (const { about, rows, history } of versioned)
      this.#judgeVersions(
        changes.filter((change) => change.about === about),
        reader.rows<Version & Readonly<Record<string, unknown>>>(`SELECT * FROM ${rows}`),
        history === null ? null : reader.rows<Superseded>(`SELECT * FROM ${history} ORDER BY change_seq`),
      );
    this.#judgePast(reader);
  }

  #judgeVersions(
    changes: readonly Change[],
    rows: readonly (Version & Readonly<Record<string, unknown>>)[],
    history: readonly Superseded[] | null,
  ): void {
    const keyOf = ({ source_no, id }: { readonly source_no: number; readonly id: string }) =>
      `${source_no}/${id}`;
    const stories = grouped(changes, keyOf);
    const current = new Map(rows.map((row) => [keyOf(row), row]));
    const superseded = grouped(history ?? [], keyOf);
    for (const key of new Set([...stories.keys(), ...current.keys(), ...superseded.keys()])) {
      const story = stories.get(key) ?? [];
      const problem =
        wrongStory(story, current.get(key)) ??
        (history === null ? undefined : wrongHistory(story, superseded.get(key) ?? []));
      if (problem !== undefined) this.parts.violate('C4', `${story[0]?.about ?? 'a row'} ${key}: ${problem}`);
    }
    this.parts.counters.add('catalog changes judged', changes.length);
  }

  /** The history returns what readers saw at the time. */
  #judgePast(reader: Reader): void {
    const past = `SELECT source, id, name, unavailable, valid_from, ${roundColumns} AS text`;
    for (const { source, at, rounds } of this.#snapshots) {
      const then = reader.rows<RoundSeen>(
        `${past} FROM rounds WHERE source = '${source}' AND valid_from <= '${at}'
         UNION ALL ${past} FROM round_history
         WHERE source = '${source}' AND valid_from <= '${at}' AND valid_to > '${at}' ORDER BY id`,
      );
      if (labelsOf(then) !== rounds)
        this.parts.violate(
          'C4',
          `the rounds of ${source} as of ${at} are ${labelsOf(then)} instead of ${rounds}`,
        );
      this.parts.counters.add('rounds compared as of a time');
    }
  }
}

/** The newest states of the rounds that are compared with the history. */
const snapshotsMax = 40;

const labelsOf = (rounds: readonly RoundSeen[]): string =>
  rounds.map(({ id, name, text, unavailable }) => `${id} ${name} ${text} ${unavailable}`).join('\n');

interface Shape {
  readonly id: string;
  /** The parts of the name of a round that has none. */
  readonly parts: readonly string[];
  readonly name: string | null;
  readonly openedAt: string;
  readonly text: string;
  readonly reason: string | null;
}

/** Returns the names that the documentation promises for the rounds of one company. */
function namesOf(rounds: readonly Shape[]): ReadonlyMap<string, string> {
  const plain = (one: Shape) => one.name ?? one.parts.filter((part) => part !== '').join(' ');
  const dated = (one: Shape) => `${plain(one)}, opened ${one.openedAt.slice(0, 10)}`;
  const alone = (one: Shape, label: (one: Shape) => string) =>
    rounds.every((other) => other === one || label(other) !== label(one));
  return new Map(
    rounds.map((one) => {
      if (alone(one, plain)) return [one.id, plain(one)];
      // Two of three may have opened on different days.
      const twins = rounds.filter((other) => plain(other) === plain(one));
      const sameDay = twins.some((other) => other !== one && dated(other) === dated(one));
      return [one.id, sameDay ? `${dated(one)} (…${one.id.slice(-4)})` : dated(one)];
    }),
  );
}

function differenceOf(what: string, seen: readonly string[], must: readonly string[]): string | undefined {
  const missing = must.find((one) => !seen.includes(one));
  if (missing !== undefined) return `of the ${what}, ${missing} is missing`;
  const extra = seen.find((one) => !must.includes(one));
  return extra === undefined ? undefined : `of the ${what}, ${extra} is extra`;
}

function grouped<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return groups;
}

type Values = Readonly<Record<string, unknown>>;

const valuesOf = (json: string | null): Values | null =>
  json === null ? null : (JSON.parse(json) as Values);

/** Replays the changes of one row and compares the result with the row. */
function wrongStory(story: readonly Change[], row: (Version & Values) | undefined): string | undefined {
  let state = null as Values | null;
  for (const { kind, seq, old_values, new_values } of story) {
    const before = valuesOf(old_values);
    const after = valuesOf(new_values);
    if ((kind === 'added') !== (state === null)) return `change ${seq} is ${kind}, which is impossible there`;
    const wrong = Object.entries(before ?? {}).find(([column, value]) => state?.[column] !== value);
    if (wrong !== undefined) return `change ${seq} names another ${wrong[0]} than was there before`;
    if (kind === 'changed' && Object.keys(after ?? {}).length === 0) return `change ${seq} changes nothing`;
    state = kind === 'removed' ? null : { ...state, ...after };
  }
  const last = story.at(-1);
  if (state === null) return row === undefined ? undefined : 'its row is there, but not in the feed';
  if (row === undefined) return 'its row is missing';
  const wrong = Object.entries(state).find(([column, value]) => row[column] !== value);
  if (wrong !== undefined) return `its row shows another ${wrong[0]} than the feed`;
  if (row.change_seq !== last?.seq || row.valid_from !== last.at)
    return 'its row names another change as its last';
  return undefined;
}

/** Each change but the last began a version that the next one superseded. */
function wrongHistory(story: readonly Change[], history: readonly Superseded[]): string | undefined {
  const must = story.flatMap((change, index) => {
    const next = story[index + 1];
    if (next === undefined || change.kind === 'removed') return [];
    return [[change.seq, change.at, next.at, next.kind === 'removed' ? 'removed' : 'update'].join()];
  });
  const kept = history.map((one) => [one.change_seq, one.valid_from, one.valid_to, one.ended_by].join());
  return kept.join(' ') === must.join(' ')
    ? undefined
    : `${kept.length} superseded versions, but ${must.length} in the feed`;
}
