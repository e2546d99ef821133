import { type Chance, hash } from './chance.js';
import type { Publication, Truth } from './truth.js';

export interface CompanyNow {
  readonly id: string;
  readonly name: string;
  readonly tagline: string;
  /** Not served: 404. */
  readonly isHidden: boolean;
}

export interface RoundNow {
  readonly id: string;
  readonly company: string;
  /** The platform's own name, which only some rounds have. */
  readonly name: string | null;
  readonly exemption: string;
  readonly security: { readonly type: string; readonly label: string };
  readonly status: string;
  readonly isReserving: boolean;
  readonly target: number;
  readonly raised: number;
  readonly investors: number;
  readonly openedAt: string;
  readonly closesAt: string | null;
  readonly closedAt: string | null;
  /** Not served: 404. */
  readonly isHidden: boolean;
  /** Whether the record of its company names it. */
  readonly isListed: boolean;
}

export interface PostNow {
  readonly id: string;
  readonly company: string;
  readonly title: string;
  readonly publishedAt: string;
  readonly isPinned: boolean;
}

export const catalogChanges = [
  'rename',
  'hide_company',
  'open',
  'move',
  'move',
  'terms',
  'hide_round',
  'unlist',
  'post',
  'edit_post',
  'withdraw_post',
] as const;
export type CatalogChange = (typeof catalogChanges)[number];

/** What the token of a request may read. */
export interface CatalogAccess {
  /** Companies, rounds and posts. */
  readonly catalog: boolean;
  /** Stats, which need the right to edit the company. */
  readonly stats: boolean;
}

export interface CatalogQuestion {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly etag: string | undefined;
  readonly access: CatalogAccess;
  /** How far the feed was published: the stats count what it shows. */
  readonly head: number;
}

export type CatalogAnswer =
  | { readonly status: 200; readonly body: object }
  | { readonly status: 304 }
  | { readonly status: 403; readonly type: 'insufficient_scope' }
  | { readonly status: 404; readonly type: 'not_found' };

const securities = [
  { type: 'safe', label: 'SAFE' },
  { type: 'equity', label: 'Equity' },
  { type: 'note', label: 'Convertible note' },
];
const hidden = { status: 404, type: 'not_found' } as const;
const paths = /^\/(companies|offerings)\/([^/]+)(?:\/(updates|stats))?$/;

/**
 * Companies, rounds, posts and stats of the fake platform: collections without a feed, of which only some changes are
 * announced. Shares no code with the daemon or the bundled server.
 */
export class FakeCatalog {
  /** Every text that a served company, round or post ever had, by id. */
  readonly served = new Map<string, Set<string>>();
  /** Rounds that were hidden or not named by their company at some time: a listing may have dropped them. */
  readonly unsettled = new Set<string>();
  readonly #companies = new Map<string, CompanyNow>();
  readonly #rounds = new Map<string, RoundNow>();
  readonly #posts = new Map<string, PostNow>();
  readonly #roundOf = new Map<string, string>();
  /** Whether responses carry an `etag`, which the specification leaves open. */
  readonly #hasEtags: boolean;
  readonly #postsPerPage: number;

  constructor(
    readonly truth: Truth,
    readonly chance: Chance,
    companies: readonly string[],
  ) {
    this.#hasEtags = chance.yes(0.5);
    this.#postsPerPage = chance.pick([1, 2, 50]);
    for (const id of companies) {
      this.#putCompany({ id, name: this.#word('Company'), tagline: this.#word('tag'), isHidden: false });
      for (let count = chance.between(1, 3); count > 0; count -= 1) this.open(id);
      for (let count = chance.between(0, 4); count > 0; count -= 1) this.#post(id);
    }
  }

  company(id: string): CompanyNow | undefined {
    return this.#companies.get(id);
  }

  round(id: string): RoundNow | undefined {
    return this.#rounds.get(id);
  }

  roundsOf(company: string): readonly RoundNow[] {
    return [...this.#rounds.values()].filter((one) => one.company === company);
  }

  postsOf(company: string): readonly PostNow[] {
    return [...this.#posts.values()].filter((one) => one.company === company);
  }

  /** Returns the round of an investment: one of those its company had when it was first shown. */
  roundOf({ id, company }: Pick<Publication, 'id' | 'company'>): string {
    const known = this.#roundOf.get(id);
    if (known !== undefined) return known;
    const rounds = this.roundsOf(company);
    const round = rounds[hash(id) % Math.max(1, rounds.length)]?.id ?? `ofr_${company}`;
    this.#roundOf.set(id, round);
    return round;
  }

  /** Puts an investment that was not shown yet into this round. */
  assign({ id }: Pick<Publication, 'id'>, round: RoundNow): void {
    this.#roundOf.set(id, round.id);
  }

  /** Returns the number of investments and their sums of a round, by status. */
  statsOf(round: RoundNow, head: number): ReadonlyMap<string, readonly [number, number, number]> {
    const byStatus = new Map<string, [number, number, number]>();
    for (const one of this.truth.visible(round.company, head).values()) {
      if (one.version === null || this.roundOf(one) !== round.id) continue;
      const { status, committed, raised } = one.version;
      const [count, all, paid] = byStatus.get(status) ?? [0, 0, 0];
      byStatus.set(status, [count + 1, all + committed, paid + raised]);
    }
    return byStatus;
  }

  /** Changes something of a company. Returns the round and the event that announces it, where there is one. */
  change(
    what: CatalogChange,
    company: string,
    chance: Chance,
  ): { readonly round: RoundNow; readonly event: string } | null {
    const owner = this.#companies.get(company);
    const rounds = this.roundsOf(company);
    const posts = this.postsOf(company);
    if (owner === undefined) return null;
    switch (what) {
      case 'rename':
        this.#putCompany({ ...owner, name: this.#word('Company'), tagline: this.#word('tag') });
        return null;
      case 'hide_company':
        this.#putCompany({ ...owner, isHidden: !owner.isHidden });
        return null;
      case 'open':
        return { round: this.open(company), event: 'offering.opened' };
      case 'move': {
        const running = rounds.filter(({ status }) => status === 'open' || status === 'closing');
        if (running.length === 0) return null;
        return this.move(chance.pick(running), chance.pick(['closing', 'closed', 'canceled']));
      }
      case 'terms':
        if (rounds.length > 0) this.#putTerms(chance.pick(rounds));
        return null;
      case 'hide_round': {
        if (rounds.length === 0) return null;
        const round = chance.pick(rounds);
        this.#putRound({ ...round, isHidden: !round.isHidden });
        return null;
      }
      case 'unlist': {
        if (rounds.length === 0) return null;
        const round = chance.pick(rounds);
        this.#putRound({ ...round, isListed: !round.isListed });
        return null;
      }
      case 'post':
        this.#post(company);
        return null;
      case 'edit_post':
        if (posts.length > 0) this.#putPost({ ...chance.pick(posts), title: this.#word('Title') });
        return null;
      case 'withdraw_post':
        if (posts.length > 0) this.#posts.delete(chance.pick(posts).id);
        return null;
    }
  }

  open(company: string): RoundNow {
    const { chance } = this;
    const day = (earliest: number) =>
      new Date(Date.UTC(2024, earliest + chance.between(0, 5), chance.between(1, 28))).toISOString();
    return this.#putRound({
      id: `ofr_${chance.text(10)}`,
      company,
      name: chance.yes(0.5) ? this.#word('Round') : null,
      exemption: chance.pick(['Reg CF', 'Reg D']),
      security: chance.pick(securities),
      status: 'open',
      isReserving: chance.yes(0.2),
      target: chance.between(1, 9_000_000_000),
      raised: chance.between(0, 9_000_000_000),
      investors: chance.between(0, 5_000),
      openedAt: day(0),
      closesAt: chance.yes(0.5) ? day(36) : null,
      closedAt: null,
      isHidden: chance.yes(0.15),
      isListed: chance.yes(0.9),
    });
  }

  move(round: RoundNow, status: 'closing' | 'closed' | 'canceled'): { round: RoundNow; event: string } {
    const closedAt = status === 'closed' ? new Date(this.truth.now()).toISOString() : null;
    const moved = this.#putRound({ ...this.#putTerms(round), status, closedAt, closesAt: null });
    return { round: moved, event: `offering.${status}` };
  }

  /** Returns a round that everybody may read, as its company, which names it. */
  publicRoundOf(company: string): RoundNow {
    const owner = this.#companies.get(company);
    // Of a hidden company, only rounds with investments are mirrored.
    if (owner?.isHidden === true) this.#putCompany({ ...owner, isHidden: false });
    return this.publish(this.roundsOf(company)[0] ?? this.open(company));
  }

  publish(round: RoundNow): RoundNow {
    return this.#putRound({ ...round, isHidden: false, isListed: true });
  }

  /** Returns undefined for a path that is not of the catalog. */
  answer({ path, query, etag, access, head }: CatalogQuestion): CatalogAnswer | undefined {
    const [, kind, id = '', tab] = paths.exec(path) ?? [];
    if (kind === undefined) return undefined;
    if (kind === 'offerings' && tab === 'stats') return this.#stats(id, access, head);
    if (tab === 'stats' || (kind === 'offerings' && tab !== undefined)) return hidden;
    if (!access.catalog) return { status: 403, type: 'insufficient_scope' };
    if (kind === 'offerings') return this.#offering(id, etag);
    const company = this.#companies.get(id);
    if (company === undefined || company.isHidden) return hidden;
    return { status: 200, body: tab === undefined ? this.#record(company) : this.#page(id, query) };
  }

  #stats(id: string, access: CatalogAccess, head: number): CatalogAnswer {
    const round = this.#rounds.get(id);
    if (round === undefined || !access.stats) return hidden;
    const byStatus = Object.fromEntries(
      [...this.statsOf(round, head)].map(([status, [count, committed, raised]]) => [
        status,
        { count, committed_cents: committed, raised_cents: raised },
      ]),
    );
    const published = this.truth.publications[head - 1];
    return {
      status: 200,
      body: {
        data: {
          type: 'offering_stats',
          offering: id,
          company: round.company,
          currency: 'usd',
          by_status: byStatus,
        },
        meta: { published_through: published === undefined ? null : new Date(published.at).toISOString() },
      },
    };
  }

  #offering(id: string, known: string | undefined): CatalogAnswer {
    const round = this.#rounds.get(id);
    const company = this.#companies.get(round?.company ?? '');
    if (round === undefined || company === undefined || round.isHidden) return hidden;
    const attributes = {
      name: round.name,
      company_name: company.name,
      exemption: { type: 'reg', label: round.exemption },
      security: round.isReserving ? null : round.security,
      intended_security: round.isReserving ? round.security : null,
      status: round.status,
      testing_the_waters: round.isReserving,
      funding_target_cents: round.target,
      amount_raised_cents: round.raised,
      investor_count: round.investors,
      started_at: round.openedAt,
      closes_at: round.closesAt,
      closed_at: round.closedAt,
    };
    const etag = String(hash(JSON.stringify(attributes)));
    if (this.#hasEtags && known === `"${etag}"`) return { status: 304 };
    const data = { id, type: 'offering', company: round.company, attributes };
    return { status: 200, body: { data: this.#hasEtags ? { ...data, etag } : data } };
  }

  #record({ id, name, tagline }: CompanyNow): object {
    const rounds = this.roundsOf(id);
    const current = currentOf(rounds);
    return {
      data: {
        id,
        type: 'company',
        attributes: {
          name,
          tagline,
          url: `https://platform.invalid/${slugOf(id)}`,
          raising: current !== null,
          current_raise: current === null ? null : { offering_id: current, offering_ids: [current] },
          service_rounds: rounds
            .filter(({ isListed }) => isListed)
            .map((round) => ({
              offering_id: round.id,
              current: round.id === current,
              status: round.status,
              exemption: { type: 'reg', label: round.exemption },
              security: round.security,
              amount_raised_cents: round.raised,
              investor_count: round.investors,
              opened_at: round.openedAt,
              closed_at: round.closedAt,
            })),
          past_rounds: [],
        },
      },
    };
  }

  #page(company: string, query: URLSearchParams): object {
    const after = query.get('cursor') ?? '';
    const rest = this.postsOf(company)
      .filter(({ id }) => id > after)
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const shown = rest.slice(0, Math.min(this.#postsPerPage, Number(query.get('per_page') ?? 20)));
    const hasMore = rest.length > shown.length;
    return {
      data: shown.map(({ id, title, publishedAt, isPinned }) => ({
        id,
        type: 'company_update',
        attributes: {
          kind: 'update',
          title,
          published_at: publishedAt,
          pinned: isPinned,
          visibility: 'public',
        },
      })),
      meta: {
        company,
        has_more: hasMore,
        page_count: shown.length,
        next_cursor: hasMore ? shown.at(-1)?.id : null,
      },
    };
  }

  #word(kind: string): string {
    return `${kind} ${this.chance.text(6)}`;
  }

  #post(company: string): void {
    this.#putPost({
      id: `upd_${this.chance.text(10)}`,
      company,
      title: this.#word('Title'),
      publishedAt: new Date(this.truth.now()).toISOString(),
      isPinned: this.chance.yes(0.2),
    });
  }

  #putCompany(company: CompanyNow): void {
    this.#companies.set(company.id, company);
    this.#remember(company.id, companyText(company, this.roundsOf(company.id)));
  }

  #putTerms(round: RoundNow): RoundNow {
    const { chance } = this;
    const raised = chance.between(0, 9_000_000_000);
    return this.#putRound({ ...round, target: chance.between(1, 9_000_000_000), raised });
  }

  #putRound(round: RoundNow): RoundNow {
    this.#rounds.set(round.id, round);
    if (round.isHidden || !round.isListed) this.unsettled.add(round.id);
    this.#remember(round.id, roundText(round));
    const company = this.#companies.get(round.company);
    if (company !== undefined) this.#remember(company.id, companyText(company, this.roundsOf(company.id)));
    return round;
  }

  #putPost(post: PostNow): void {
    this.#posts.set(post.id, post);
    this.#remember(post.id, postText(post));
  }

  #remember(id: string, text: string): void {
    const texts = this.served.get(id) ?? new Set();
    this.served.set(id, texts.add(text));
  }
}

const slugOf = (company: string) => company.replace('_', '-');

/** Returns the open round that the record of a company shows first, if any. */
function currentOf(rounds: readonly RoundNow[]): string | null {
  return rounds.find(({ status, isListed }) => status === 'open' && isListed)?.id ?? null;
}

/** Returns the text that the mirror's row of a served company must show. */
export function companyText({ id, name, tagline }: CompanyNow, rounds: readonly RoundNow[]): string {
  const current = currentOf(rounds);
  return [name, slugOf(id), tagline, current === null ? 'not_raising' : 'raising', current ?? ''].join('|');
}

/** Returns the text that the mirror's row of a served round must show, beside its name. */
export function roundText(round: RoundNow): string {
  return [
    ...[round.company, round.security.type, round.exemption, round.status, round.isReserving ? 1 : 0],
    ...[round.target, round.raised, round.investors],
    ...[round.openedAt, round.closesAt ?? '', round.closedAt ?? ''],
  ].join('|');
}

export function postText({ company, title, publishedAt, isPinned }: PostNow): string {
  return [company, title, publishedAt, isPinned ? 1 : 0].join('|');
}
