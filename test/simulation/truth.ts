import type { Chance } from './chance.js';

/**
 * The person a record is about. Every value is unique in its run, so that a leftover byte identifies its owner.
 */
export interface Person {
  readonly name: string;
  readonly email: string;
  /** Empty once the investor withdrew it. */
  readonly message: string;
}

/** One complete version of a record. `mark` is unique per content: it identifies the version a row shows. */
export interface Version {
  readonly company: string;
  readonly mark: string;
  readonly status: string;
  readonly committed: number;
  readonly raised: number;
  readonly investor: string;
  readonly deactivated: boolean;
  /** Null once the investor closed the account. */
  readonly person: Person | null;
}

export interface Publication {
  /** From 1, over all companies. */
  readonly seq: number;
  readonly company: string;
  readonly id: string;
  readonly at: number;
  readonly version: Version | null;
  readonly reason: string;
  /** Not published: the reader lost access, and only a new listing shows it. */
  readonly silent: boolean;
}

/**
 * The true state, as an append-only list of publications. Everything is judged against it, and it shares no code
 * with the daemon or the bundled server.
 */
export class Truth {
  readonly publications: Publication[] = [];
  readonly #byCompany = new Map<string, Publication[]>();
  readonly #byRecord = new Map<string, Publication[]>();
  readonly #takenBack: Chance;
  #marks = 0;

  constructor(
    readonly chance: Chance,
    readonly now: () => number,
  ) {
    this.#takenBack = chance.fork('taken back');
  }

  get head(): number {
    return this.publications.length;
  }

  of(company: string): readonly Publication[] {
    return this.#byCompany.get(company) ?? [];
  }

  /** Returns all publications of a record, in order. */
  story(id: string): readonly Publication[] {
    return this.#byRecord.get(id) ?? [];
  }

  /** Returns the newest publication of a record up to `seq`. */
  latest(id: string, seq: number): Publication | undefined {
    const story = this.story(id);
    for (let index = story.length - 1; index >= 0; index -= 1) {
      const one = story[index];
      if (one !== undefined && one.seq <= seq) return one;
    }
    return undefined;
  }

  visible(company: string, seq = this.head): Map<string, Publication> {
    const visible = new Map<string, Publication>();
    for (const one of this.of(company)) {
      if (one.seq > seq) break;
      if (one.version === null) visible.delete(one.id);
      else {
        visible.delete(one.id);
        visible.set(one.id, one);
      }
    }
    return visible;
  }

  create(company: string): Publication {
    const id = `inv_${this.chance.text(8)}${this.head}`;
    const tag = this.chance.text(10);
    return this.publish(company, id, {
      ...this.#fresh(),
      company,
      investor: `usr_${tag}`,
      deactivated: false,
      person: {
        name: `name-${tag}`,
        email: `${tag}@mail.invalid`,
        message: `message-${tag}`,
      },
    });
  }

  /** Publishes a new version; sometimes the person changes too, and the old name must disappear. */
  change(before: Publication): Publication {
    const version = before.version;
    if (version === null) throw new Error('a withdrawn record is not changed');
    const tag = this.chance.text(10);
    const person =
      version.person !== null && this.chance.yes(0.3)
        ? { ...version.person, name: `name-${tag}`, email: `${tag}@mail.invalid` }
        : version.person;
    const silenced = person !== null && this.#takenBack.yes(0.1) ? { ...person, message: '' } : person;
    return this.publish(before.company, before.id, { ...version, ...this.#fresh(), person: silenced });
  }

  /** Publishes the same content once more, as after a recomputation. */
  republish(before: Publication): Publication {
    return this.publish(before.company, before.id, before.version, 'recomputed');
  }

  deactivate(before: Publication): Publication {
    const version = before.version;
    if (version === null) throw new Error('a withdrawn record is not changed');
    return this.publish(
      before.company,
      before.id,
      { ...version, ...this.#fresh(), deactivated: true, person: null },
      'investor_deactivated',
    );
  }

  withdraw(before: Publication, silent = false): Publication {
    return this.publish(before.company, before.id, null, 'changed', silent);
  }

  publish(
    company: string,
    id: string,
    version: Version | null,
    reason = 'changed',
    silent = false,
  ): Publication {
    const one = { seq: this.head + 1, company, id, at: this.now(), version, reason, silent };
    this.publications.push(one);
    entry(this.#byCompany, company).push(one);
    entry(this.#byRecord, id).push(one);
    return one;
  }

  #fresh(): Pick<Version, 'mark' | 'status' | 'committed' | 'raised'> {
    this.#marks += 1;
    const committed = this.chance.between(1, 9_000_000);
    return {
      mark: `m${this.#marks}`,
      status: this.chance.pick(['reserved', 'active', 'executed', 'canceled', 'a_status_of_tomorrow']),
      committed,
      raised: this.chance.between(0, committed),
    };
  }
}

function entry<Key, Value>(map: Map<Key, Value[]>, key: Key): Value[] {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made: Value[] = [];
  map.set(key, made);
  return made;
}

/** Returns the text a mirror row must show, written independently of any code that fills a row. */
export function rowText(version: Version, identity: boolean): string {
  const { person } = version;
  const personText =
    person === null || !identity ? '-' : [person.name, person.email, person.message].join('|');
  return [
    version.company,
    version.mark,
    version.status,
    version.committed,
    version.raised,
    version.investor,
    version.deactivated ? 1 : 0,
    personText,
  ].join('|');
}
