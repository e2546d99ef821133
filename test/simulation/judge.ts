import type { Counters } from './counters.js';
import type { FakePlatform } from './fake-platform.js';
import type { Life, SourcePlan } from './machine.js';
import { type Look, leftoversQuery, type Reader, type RowSeen, type SourceSeen } from './reader.js';
import { personWord } from './stray-word.js';
import { type Publication, rowText, type Truth } from './truth.js';

export interface JudgeParts {
  readonly truth: Truth;
  readonly platform: FakePlatform;
  readonly sources: readonly SourcePlan[];
  readonly counters: Counters;
  /** True if an old replica may move readers back; then only the final state is checked. */
  readonly mayGoBack: boolean;
  /** Sources whose token lost or gained the identity grant during the run. */
  readonly identityMoved: ReadonlySet<string>;
  readonly brake: { readonly share: number; readonly rows: number };
  /** Sources whose deletions a person has accepted, or whose filters changed. */
  readonly accepted: ReadonlySet<string>;
  readonly readerOf: (life: Life) => Reader;
  /** True if the state after a commit was written by the process that committed. */
  readonly seesWriters: boolean;
  /** Checks the state of the mirror after a commit. */
  readonly look: (look: Look) => void;
  /** Checks companies, rounds and posts after a commit. */
  readonly lookCatalog: (reader: Reader) => void;
  readonly violate: (invariant: string, what: string) => void;
}

/** Compares what readers can see with the truth, at every commit and at every look. */
export class Judge {
  /** How far each source's mirror is known to reach; a relisting keeps that value until its swap. */
  readonly #solid = new Map<string, number>();
  readonly #seen = new Map<string, number>();
  readonly #last = new Map<
    string,
    {
      readonly state: string;
      readonly generation: number;
      readonly ids: readonly string[];
      readonly awaiting: readonly string[];
    }
  >();
  readonly #states = new Map<string, string>();
  readonly #companies = new Map<string, string>();
  readonly #readers = new Map<string, Reader>();
  readonly #lastKey = new Map<string, string>();
  readonly #fences = new Map<number, { fence: number; owner: number; key: string }>();

  constructor(readonly parts: JudgeParts) {}

  readerOf(life: Life): Reader {
    const known = this.#readers.get(life.file);
    if (known !== undefined) return known;
    const made = this.parts.readerOf(life);
    this.#readers.set(life.file, made);
    return made;
  }

  close(): void {
    for (const reader of this.#readers.values()) reader.close();
    this.#readers.clear();
  }

  /** Checks I2, I3, I4, I5, I11 and I12 after each commit of the daemon. */
  afterCommit(life: Life): void {
    const reader = this.readerOf(life);
    if (this.parts.seesWriters) this.#fence(life, reader);
    const key = reader.key();
    if (this.#lastKey.get(life.file) === key) return;
    this.#lastKey.set(life.file, key);
    this.parts.look(reader.look());
    this.parts.lookCatalog(reader);
    this.#leftovers(reader);
  }

  /** I3: rows collected by one listing never become part of another. */
  #leftovers(reader: Reader): void {
    const [left] = reader.rows<{ readonly name: string }>(leftoversQuery);
    if (left !== undefined) this.parts.violate('I3', `${left.name} still has rows of a finished listing`);
  }

  /** I11: a source's data changes only under the lease of the process that writes it. */
  #fence(life: Life, reader: Reader): void {
    for (const { no, fence, key } of reader.leases()) {
      const before = this.#fences.get(no);
      if (before === undefined || fence > before.fence) this.#fences.set(no, { fence, owner: life.no, key });
      else if (fence < before.fence) this.#fences.set(no, { fence, owner: life.no, key });
      else if (key !== before.key) {
        if (before.owner !== life.no)
          this.parts.violate('I11', `daemon ${life.no} wrote under the lease of daemon ${before.owner}`);
        this.#fences.set(no, { ...before, key });
      }
    }
  }

  /** A power cut may lose the newest leases, including their fence numbers. */
  machineDied(): void {
    for (const state of this.#states.values()) this.parts.counters.add(`died while:${state}`);
    for (const { awaiting } of this.#last.values())
      if (awaiting.length > 0) this.parts.counters.add('died while:rows await deletion');
    this.#fences.clear();
  }

  look(look: Look): void {
    for (const source of look.sources) this.#judgeSource(source, look.rows.get(source.name) ?? []);
  }

  #judgeSource(source: SourceSeen, rows: readonly RowSeen[]): void {
    const { violate, truth, platform, counters } = this.parts;
    counters.add('judged');
    counters.add(`seen:${source.state}`);
    this.#states.set(source.name, source.state);
    if (source.listed_at === null) {
      if (rows.length > 0)
        violate('I3', `${source.name} shows ${rows.length} rows of an unfinished first listing`);
      return;
    }
    if (rows.length !== source.rows_held)
      violate('I3', `${source.name} shows ${rows.length} rows but reports ${source.rows_held} stored`);
    const awaiting = rows.filter((row) => row.awaiting === 1).length;
    if (awaiting !== source.awaiting_deletion)
      violate(
        'I3',
        `${source.name} marks ${awaiting} rows and says ${source.awaiting_deletion} await deletion`,
      );
    if (awaiting > 0) counters.add('seen:rows await deletion');
    this.#judgeBrake(source, rows);
    const reach = this.#reachOf(source);
    if (reach === undefined) violate('I2', `${source.name}: its position was never issued`);
    const isRelisting = (source.state === 'halted' ? source.halted_from : source.state) === 'relisting';
    const published = isRelisting ? this.#companyAt(source) : undefined;
    // A source may keep rows of a company it no longer mirrors, but only as awaiting deletion.
    const own = rows.find((row) => row.awaiting === 0);
    const company = published ?? own?.text.split('|')[0] ?? this.#companyOf(source);
    // Or without this mark, if an unfinished listing of that company has named them.
    const isLeft = ({ text, awaiting }: RowSeen) =>
      awaiting === 1 || (published !== undefined && !text.startsWith(`${published}|`));
    const must = truth.visible(company, reach ?? 0);
    const stored = new Map(rows.map(({ id, text }) => [id, text]));
    const left = new Set(rows.filter(isLeft).map(({ id }) => id));
    if (stored.size !== rows.length) violate('I3', `${source.name} shows a record twice`);
    for (const id of new Set([...must.keys(), ...stored.keys()])) {
      const problem = this.#problemOf(source.name, id, stored.get(id), reach ?? 0, left.has(id));
      if (problem !== undefined)
        violate(
          problem.invariant,
          `${source.name} ${id} (${source.state}, reaches ${reach} of ${platform.head}): ${problem.what}`,
        );
    }
  }

  /**
   * H11: a listing never deletes more than the brake allows without asking a person, and rows awaiting deletion go
   * only through the person's answer, another listing or the feed.
   */
  #judgeBrake({ name, state, halted_from, generation }: SourceSeen, rows: readonly RowSeen[]): void {
    const { brake, accepted, violate, truth } = this.parts;
    const before = this.#last.get(name);
    const ids = rows.map(({ id }) => id);
    const awaiting = rows.filter((row) => row.awaiting === 1).map(({ id }) => id);
    // A halt during a sweep does not end the sweep: its next page removes what the feed removed.
    this.#last.set(name, { state: halted_from ?? state, generation, ids, awaiting });
    if (before === undefined || accepted.has(name)) return;
    const now = new Set(ids);
    const listedBefore = before.state === 'following' || before.state === 'sweeping';
    if (listedBefore && before.generation === generation) {
      const withdrawn = (id: string) =>
        truth.story(id).some(({ version, silent }) => version === null && !silent);
      const taken = before.awaiting.find((id) => !now.has(id) && !withdrawn(id));
      if (taken !== undefined) violate('H11', `${taken} awaited deletion and was deleted without a decision`);
    }
    if (state !== 'sweeping' || before.state === 'sweeping') return;
    const gone = before.ids.filter((id) => !now.has(id)).length;
    if (gone >= brake.rows && gone > brake.share * before.ids.length)
      violate('H11', `a listing took ${gone} of ${before.ids.length} records without asking a person`);
  }

  /**
   * Returns the company whose records the mirror must have. Until a listing of another company is complete, that
   * is the previous one.
   */
  #companyOf(source: SourceSeen): string {
    const { name, state, halted_from } = source;
    const company = this.#companyAt(source);
    const known = this.#companies.get(name);
    const lists = ['following', 'sweeping'].includes((state === 'halted' ? halted_from : state) ?? '');
    const own = lists ? (company ?? known) : (known ?? company);
    if (own === undefined) return this.#planOf(name).company;
    this.#companies.set(name, own);
    return own;
  }

  /** Returns the company whose feed its position is of. */
  #companyAt({ cursor }: SourceSeen): string | undefined {
    return this.parts.platform.places.get(cursor ?? '')?.filters.split('&')[0];
  }

  #reachOf(source: SourceSeen): number | undefined {
    const { truth, platform } = this.parts;
    const state = source.state === 'halted' ? source.halted_from : source.state;
    const solid = this.#solid.get(source.name) ?? 0;
    if (state === 'following') {
      const place = platform.places.get(source.cursor ?? '');
      if (place !== undefined) this.#solid.set(source.name, place.seq);
      return place?.seq;
    }
    if (state !== 'sweeping') return solid;
    if (source.reached !== null) return platform.places.get(source.reached)?.seq;
    if (source.since === null) return platform.places.get(source.cursor ?? '')?.seq;
    const time = Date.parse(source.since);
    const reach = truth.publications.findLast((one) => one.at < time)?.seq ?? 0;
    this.#solid.set(source.name, reach);
    return reach;
  }

  #problemOf(
    source: string,
    id: string,
    text: string | undefined,
    reach: number,
    awaits: boolean,
  ): { invariant: string; what: string } | undefined {
    const { truth, platform } = this.parts;
    const story = truth.story(id);
    if (story.length === 0) return { invariant: 'I1', what: 'the platform never published it' };
    const matching = text === undefined ? [] : story.filter((one) => this.#texts(source, one).includes(text));
    if (text !== undefined && matching.length === 0)
      return { invariant: 'I12', what: `no version ever read ${text}` };
    const back = this.#wentBack(source, id, matching);
    if (back !== undefined) return back;
    // The row keeps its state from when a listing did not name it. A wrongly marked row is missing at rest, once a
    // person has accepted.
    if (awaits) return undefined;
    if ((platform.poisoned.get(id) ?? 0) >= (truth.latest(id, reach)?.seq ?? 0))
      return text === undefined && this.#mustStay(source, id)
        ? { invariant: 'I2', what: 'a record that was visible and then unreadable is missing' }
        : undefined;
    if (story.some((one) => one.silent && one.seq <= truth.head)) return undefined;
    // Published later than the position: the mirror may or may not have it yet.
    if (story.some((one) => one.seq > reach)) return undefined;
    const latest = truth.latest(id, reach);
    if (latest === undefined || latest.version === null)
      return text === undefined
        ? undefined
        : { invariant: 'I5', what: 'a withdrawn record is visible and not awaiting deletion' };
    if (text === undefined) return { invariant: 'I2', what: 'a record before the position is missing' };
    return this.#texts(source, latest).includes(text)
      ? undefined
      : {
          invariant: 'I2',
          what: `it shows ${text}, but the position is after ${rowText(latest.version, true)}`,
        };
  }

  /** Returns true if readers saw the record and no publication withdrew it. */
  #mustStay(source: string, id: string): boolean {
    const gone = this.parts.truth.story(id).some(({ version, silent }) => version === null || silent);
    return !gone && !this.parts.mayGoBack && this.#seen.has(`${source}/${id}`);
  }

  #wentBack(
    source: string,
    id: string,
    matching: readonly Publication[],
  ): { invariant: string; what: string } | undefined {
    const newest = matching.at(-1);
    const oldest = matching[0];
    if (newest === undefined || oldest === undefined || this.parts.mayGoBack) return undefined;
    const key = `${source}/${id}`;
    const before = this.#seen.get(key) ?? 0;
    if (newest.seq < before)
      return { invariant: 'I4', what: `readers were shown publication ${before} and now ${newest.seq}` };
    this.#seen.set(key, Math.max(before, oldest.seq));
    return undefined;
  }

  /**
   * Returns the texts a version may show. Identities of a deleted record leave every source at once, ahead of the
   * row itself.
   */
  #texts(source: string, { id, version }: Publication): readonly string[] {
    if (version === null) return [];
    const { account } = this.#planOf(source);
    const now = rowText(version, account.identity);
    if (this.parts.identityMoved.has(account.name)) return [now, rowText(version, !account.identity)];
    return this.#isLeaving(id) ? [now, rowText(version, false)] : [now];
  }

  #isLeaving(id: string): boolean {
    const { truth, platform } = this.parts;
    return truth
      .story(id)
      .some(({ seq, version }) => (version === null || version.deactivated) && seq <= platform.head);
  }

  #planOf(name: string): SourcePlan {
    const found = this.parts.sources.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no source is called ${name}`);
    return found;
  }

  /**
   * P10: returns whether a source shows identities that its token may no longer read, where the platform lets a
   * reader notice that.
   */
  keepsNames({ name, company, account }: SourcePlan, look: Look): boolean {
    const named = look.rows.get(name)?.some(({ text }) => !text.endsWith('|-')) === true;
    return named && !account.identity && this.parts.platform.tellsGrant(company);
  }

  /** I9: a halt that is not stored cannot be seen or ended by a person. */
  halted(life: Life, source: string): void {
    const state = this.readerOf(life)
      .look()
      .sources.find(({ name }) => name === source)?.state;
    if (state !== 'halted')
      this.parts.violate('I9', `${life.name} considers ${source} halted, but it is ${state}`);
  }

  /**
   * I1: returns the first difference between the mirror at rest and what the token may see, field by field, or
   * undefined.
   */
  difference(look: Look): string | undefined {
    const { truth, platform } = this.parts;
    for (const { name, company, account } of this.parts.sources) {
      const source = look.sources.find((one) => one.name === name);
      if (source === undefined) return `${name} was never opened`;
      if (source.state !== 'following') return `${name} is ${source.state}`;
      if (source.last_outcome !== 'done') return `${name} ended its last tick ${source.last_outcome}`;
      if (platform.head < truth.head) return 'the platform has not published all yet';
      const rows = look.rows.get(name) ?? [];
      const must = truth.visible(company);
      for (const { id, text } of rows) {
        const version = must.get(id)?.version;
        if (version == null) return `${name} shows ${id}, which is gone`;
        if (text !== rowText(version, account.identity))
          return `${name} ${id} reads ${text} instead of ${rowText(version, account.identity)}`;
      }
      if (rows.length !== must.size) return `${name} shows ${rows.length} of ${must.size} records`;
    }
    return undefined;
  }

  /** P5 and as-of: checks that the change feed and the history are consistent and possible. */
  ledgers(reader: Reader): void {
    const { violate, truth } = this.parts;
    const one = <Row>(sql: string) => reader.rows<Row>(sql);
    const gap = one<{ n: number; last: number }>(
      'SELECT count(*) AS n, coalesce(max(seq), 0) AS last FROM changes',
    )[0];
    if (gap !== undefined && gap.n !== gap.last)
      violate('feed', `${gap.n} changes, but the last number is ${gap.last}`);
    const silent = one<{ id: string }>(
      `SELECT id FROM changes WHERE kind = 'changed' AND fields = '[]' LIMIT 1`,
    );
    if (silent[0] !== undefined) violate('feed', `a change of ${silent[0].id} names no field`);
    const overlap = one<{ id: string }>(
      `SELECT h.id FROM investment_history h WHERE h.valid_to < h.valid_from OR EXISTS (
         SELECT 1 FROM investment_history o WHERE o.id = h.id AND o.source = h.source AND o.change_seq < h.change_seq
         AND o.valid_to > h.valid_from) LIMIT 1`,
    );
    if (overlap[0] !== undefined) violate('history', `versions of ${overlap[0].id} overlap`);
    const unkept = one<{ id: string }>(
      `SELECT c.id FROM changes c WHERE c.kind IN ('changed', 'removed') GROUP BY c.source, c.id
       HAVING count(*) > (SELECT count(*) FROM investment_history h WHERE h.source = c.source AND h.id = c.id) LIMIT 1`,
    );
    if (unkept[0] !== undefined)
      violate('history', `a version of ${unkept[0].id} was replaced but is not in the history`);
    const stories = new Map<string, string[]>();
    for (const { source, id, kind } of one<{ source: string; id: string; kind: string }>(
      // Companies, rounds and posts have kinds of their own, and no story in the feed of investments.
      "SELECT source, id, kind FROM changes WHERE kind IN ('added', 'changed', 'removed') ORDER BY seq",
    )) {
      const key = `${source} ${id}`;
      stories.set(key, [...(stories.get(key) ?? []), kind]);
    }
    for (const [key, story] of stories) {
      const [source = '', id = ''] = key.split(' ');
      const kinds = story.join();
      const n = story.filter((kind) => kind !== 'removed').length;
      if (/added(,changed)*,added|removed,removed|removed,changed/.test(kinds))
        violate('feed', `impossible sequence in the feed of ${source} for ${id}: ${kinds}`);
      const slack = this.parts.mayGoBack || this.parts.identityMoved.size > 0 ? 1000 : 0;
      if (n > truth.story(id).length * 2 + 2 + slack)
        violate('feed', `${id} changed ${n} times in the feed of ${source}`);
    }
  }

  /** I10: no byte of these files contains an erased identity. */
  bytes(files: Iterable<readonly [name: string, text: string]>): void {
    const { truth, violate, counters, sources } = this.parts;
    const shown = new Set<string>();
    const gone = new Set<string>();
    for (const company of new Set(sources.map((one) => one.company)))
      for (const [, one] of truth.visible(company)) for (const word of wordsOf(one)) shown.add(word);
    for (const one of truth.publications)
      for (const word of wordsOf(one)) if (!shown.has(word)) gone.add(word);
    counters.add('erased words looked for', gone.size);
    for (const [name, text] of files)
      for (const [word] of text.matchAll(personWord))
        if (gone.has(word)) violate('I10', `${word} of an erased person is in ${name}`);
  }
}

export function wordsOf({ version }: Publication): readonly string[] {
  const person = version?.person ?? null;
  return person === null ? [] : [person.name, person.email, person.message].filter((word) => word !== '');
}
